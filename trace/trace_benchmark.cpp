// What recording costs: appending to a spool, and rows per second into a session. Figures are CPU time of the
// thread that works, so that a busy machine does not spoil them.
#include "trace/ingest.hpp"
#include "trace/session_writer.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

namespace tferry::trace {
namespace {

constexpr std::int64_t kRows = 1'000'000;
constexpr const char* kKernels[] = {"gemm_bf16_128x256", "softmax_forward", "layer_norm_backward",
                                    "adamw_foreach"};

void append_launch(benchmark::State& state) {
  const TestDirectory directory;
  auto spool = SpoolWriter::open(directory / "s", {.block_count = 256});
  KernelLaunchRecord record{.name = spool->intern("gemm")};
  for (auto unused : state) {
    ++record.operation;
    spool->append(record);
  }
  state.counters["dropped"] = static_cast<double>(spool->dropped());
}
BENCHMARK(append_launch)->Iterations(kRows);

void append_eight_accesses(benchmark::State& state) {
  const TestDirectory directory;
  auto spool = SpoolWriter::open(directory / "s", {.block_count = 256});
  const AccessEntry entries[8] = {};
  for (auto unused : state) spool->append_accesses(1, 1, entries);
  state.counters["dropped"] = static_cast<double>(spool->dropped());
}
BENCHMARK(append_eight_accesses)->Iterations(kRows / 8);

void intern_known_string(benchmark::State& state) {
  const TestDirectory directory;
  auto spool = SpoolWriter::open(directory / "s", {});
  const std::string name(120, 'k');
  for (auto unused : state) benchmark::DoNotOptimize(spool->intern(name));
}
BENCHMARK(intern_known_string);

KernelRow kernel_row(std::int64_t i, std::int64_t name) {
  const std::int64_t start = 1'000'000'000'000 + 5000 * i;
  return {.process_id = 1,
          .device_id = 1,
          .stream_id = 2,
          .start_ns = start,
          .end_ns = start + 3000,
          .name_id = name,
          .grid_x = 128,
          .grid_y = 1,
          .grid_z = 1,
          .block_x = 256,
          .block_y = 1,
          .block_z = 1,
          .registers = 64,
          .static_shared_bytes = 0,
          .dynamic_shared_bytes = 4096,
          .correlation_id = i,
          .operation = i,
          .call_ns = start - 9000,
          .return_ns = start - 5000,
          .wait_ns = 0,
          .thread = 1234,
          .owner = StreamOwner::kProgram};
}

template <typename MakeRow>
void insert_rows(benchmark::State& state, MakeRow&& make_row) {
  for (auto unused : state) {
    const TestDirectory directory;
    SessionWriter writer = SessionWriter::create(directory / "a.tferry");
    const std::int64_t name = writer.intern(kKernels[0]);
    for (std::int64_t i = 0; i < kRows; ++i) writer.insert(make_row(i, name));
    if (state.range(0) != 0) state.counters["bytes_per_row"] = static_cast<double>(writer.publish()) / kRows;
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}

void insert_kernels(benchmark::State& state) { insert_rows(state, kernel_row); }
BENCHMARK(insert_kernels)->ArgName("publish")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond);

void insert_accesses(benchmark::State& state) {
  insert_rows(state, [](std::int64_t i, std::int64_t) {
    return AccessRow{.process_id = 1,
                     .operation = i / 8,
                     .allocation_id = i % 1000,
                     .offset = 0,
                     .bytes = {},
                     .kind = AccessKind::kMayTouch,
                     .known_by = KnownBy::kArgument,
                     .argument_offset = 8 * (i % 8)};
  });
}
BENCHMARK(insert_accesses)->ArgName("publish")->Arg(0)->Arg(1)->Iterations(1)->Unit(benchmark::kMillisecond);

/// Both sides of a job of launches with four accesses each: two records and the accesses per operation.
void ingest_recording(benchmark::State& state) {
  constexpr std::uint64_t kOperations = 100'000;
  const TestDirectory directory;
  SpoolOptions options{.source = SpoolSource::kRuntime, .block_count = 1024};
  auto runtime = SpoolWriter::open(directory / "runtime", options);
  options.source = SpoolSource::kCollector;
  auto collector = SpoolWriter::open(directory / "collector", options);
  collector->append(StreamRecord{.time_ns = 1, .handle = 7, .context_id = 1, .stream_id = 13, .device = 0});
  for (std::uint64_t i = 0; i < kOperations; ++i) {
    const auto time = static_cast<std::int64_t>(1'000'000 + 10'000 * i);
    const StringId name = runtime->intern(kKernels[i % 4]);
    const Dim3 grid{static_cast<std::uint32_t>(i % 7 + 1), 1, 1};
    runtime->append(KernelLaunchRecord{.time_ns = time,
                                       .return_ns = time + 3000,
                                       .operation = i,
                                       .stream = 7,
                                       .sequence = i,
                                       .name = name,
                                       .grid = grid,
                                       .block = {256, 1, 1},
                                       .device = 0});
    const AccessEntry accesses[4] = {};
    runtime->append_accesses(time, i, accesses);
    collector->intern(kKernels[i % 4]);
    collector->append(KernelActivityRecord{.time_ns = time + 8000,
                                           .end_ns = time + 12'000,
                                           .name = name,
                                           .correlation_id = static_cast<std::uint32_t>(i + 1),
                                           .context_id = 1,
                                           .stream_id = 13,
                                           .device = 0,
                                           .grid = grid,
                                           .block = {256, 1, 1}});
  }
  runtime->close();
  collector->close();
  for (auto unused : state) {
    SessionWriter writer =
        SessionWriter::create(directory / "a.tferry", {.force = true, .build_directory = {}});
    const IngestReport report =
        ingest(Recording::read({directory / "runtime", directory / "collector"}), writer);
    writer.publish();
    state.counters["matched"] = static_cast<double>(report.join.matched_calls);
  }
  state.counters["dropped"] = static_cast<double>(runtime->dropped() + collector->dropped());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kOperations));
}
BENCHMARK(ingest_recording)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tferry::trace

BENCHMARK_MAIN();
