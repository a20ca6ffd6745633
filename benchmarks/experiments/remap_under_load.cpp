#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/copy_pump.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

struct Plan {
  std::size_t chunk_mib;
  std::size_t chunks;
  std::size_t piece_mib;
  int remaps_per_second;
  bool fetching;
  bool drain;
};

// One second of evictions with `plan.remaps_per_second` remaps of one tensor's chunks between two sets of
// them.
void remap(json& found, const Plan& plan) {
  const std::size_t chunk = plan.chunk_mib * kMiB;
  const std::size_t bytes = chunk * plan.chunks;
  ChunkPool pool(chunk, Location::kDevice);
  for (std::size_t i = 0; i < 2 * plan.chunks; ++i) pool.grow();
  const ReservedRange range(bytes);
  const auto map_set = [&](std::size_t set) {
    for (std::size_t i = 0; i < plan.chunks; ++i)
      map_chunk(range.base() + i * chunk, pool, set * plan.chunks + i);
  };
  map_set(0);
  allow_access(range.base(), bytes);

  CopyPump out(Direction::kDeviceToHost, plan.piece_mib * kMiB);
  std::optional<CopyPump> in;
  if (plan.fetching) in.emplace(Direction::kHostToDevice, plan.piece_mib * kMiB);
  const double warm_until = now_us() + 30e3;
  while (now_us() < warm_until) {
  }

  std::vector<double> drained;
  std::vector<double> unmapped;
  std::vector<double> mapped;
  std::vector<double> allowed;
  std::vector<double> total;
  const std::size_t out_before = out.bytes();
  const std::size_t in_before = in ? in->bytes() : 0;
  const double start = now_us();
  const double interval = plan.remaps_per_second ? 1e6 / plan.remaps_per_second : 2e6;
  std::size_t set = 0;
  for (double next = start + interval; next < start + 1e6; next += interval) {
    while (now_us() < next) {
    }
    total.push_back(time_us([&] {
      if (plan.drain) drained.push_back(time_us([&] { out.pause(); }));
      unmapped.push_back(time_us([&] { unmap(range.base(), bytes); }));
      set ^= 1;
      mapped.push_back(time_us([&] { map_set(set); }));
      allowed.push_back(time_us([&] { allow_access(range.base(), bytes); }));
      if (plan.drain) out.resume();
    }));
  }
  while (now_us() < start + 1e6) {
  }
  const double us = now_us() - start;
  found = {{"d2h_gbps", static_cast<double>(out.bytes() - out_before) / us / 1e3},
           {"drain_us", summarize(drained)},
           {"unmap_us", summarize(unmapped)},
           {"map_us", summarize(mapped)},
           {"access_us", summarize(allowed)},
           {"total_us", summarize(total)}};
  if (in) found["h2d_gbps"] = static_cast<double>(in->bytes() - in_before) / us / 1e3;
  unmap(range.base(), bytes);
}

std::string name_of(const Plan& plan) {
  return std::to_string(plan.chunks) + "x" + std::to_string(plan.chunk_mib) + "MiB_pieces_" +
         std::to_string(plan.piece_mib) + "MiB_" + std::to_string(plan.remaps_per_second) + "_per_s" +
         (plan.fetching ? "_fetching" : "") + (plan.drain ? "_drained" : "_not_drained");
}

}  // namespace

void run_remap_under_load(Report& report) {
  std::vector<Plan> plans = {{2, 12, 16, 0, false, false}, {2, 12, 16, 0, true, false}};
  for (const bool fetching : {false, true}) {
    for (const int rate : {20, 50, 100}) {
      for (const bool drain : {true, false}) plans.push_back({2, 12, 16, rate, fetching, drain});
    }
  }
  // The same 24 MiB in fewer, larger chunks (32 MiB rounds up), and a shorter queue to drain.
  for (const bool drain : {true, false}) {
    plans.push_back({8, 3, 16, 50, true, drain});
    plans.push_back({32, 1, 16, 50, true, drain});
  }
  plans.push_back({2, 12, 4, 100, true, true});
  plans.push_back({2, 12, 4, 0, true, false});
  for (const auto& plan : plans) {
    report.section(name_of(plan), [&](json& found) { remap(found, plan); });
  }
}

}  // namespace tferry::experiments
