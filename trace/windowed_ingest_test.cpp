// A recording that is read in small windows gives the session that one large window gives.
#include "trace/ingest.hpp"
#include "trace/session.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>

namespace tferry::trace {
namespace {

using Random = std::mt19937_64;

/// Writes the spools of a random job: two streams of the program (one of them a default stream that no record
/// names), one of the runtime, allocations that come and go, graphs, captured launches; records of the GPU
/// come late and in another order than they ran, and some are lost.
class RandomJob {
 public:
  RandomJob(const TestDirectory& directory, std::uint64_t seed) : random_(seed) {
    runtime_ = open(directory, SpoolSource::kRuntime);
    collector_ = open(directory, SpoolSource::kCollector);
    runtime_->append(ProcessRecord{.time_ns = 1, .pid = 7, .host = runtime_->intern("box")});
    runtime_->append(StreamRecord{.time_ns = 1, .handle = kOwn, .device = 0, .owner = StreamOwner::kRuntime});
    collector_->append(DeviceRecord{.time_ns = 1, .device = 0, .pci_bus = 3});
    for (const auto& [handle, stream] : {std::pair{kNamed, 13u}, {kOwn, 20u}}) {
      collector_->append(
          StreamRecord{.time_ns = 2, .handle = handle, .context_id = 1, .stream_id = stream, .device = 0});
    }
  }

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      now_ns_ += 1000 + static_cast<std::int64_t>(random_() % 500);
      switch (random_() % 10) {
        case 0:
          allocate();
          break;
        case 1:
          free();
          break;
        case 2:
          copy();
          break;
        case 3:
          move();
          break;
        case 4:
          random_() % 4 == 0 ? graph() : launch(kNamed, 13);
          break;
        default:
          random_() % 3 == 0 ? launch(kDefault, 7) : launch(kNamed, 13);
      }
      if (random_() % 20 == 0) runtime_->flush();
      if (random_() % 15 == 0) deliver(random_() % 40);
    }
    deliver(late_.size());
    runtime_->close();
    collector_->close();
  }

  std::vector<std::string> paths() const { return {runtime_->path(), collector_->path()}; }

 private:
  static constexpr std::uint64_t kDefault = 0, kNamed = 0x5000, kOwn = 0x6000;

  static std::unique_ptr<SpoolWriter> open(const TestDirectory& directory, SpoolSource source) {
    return SpoolWriter::open(directory / std::to_string(static_cast<int>(source)),
                             {.source = source, .flush_interval_ns = 1'000'000'000'000});
  }
  bool lost() { return random_() % 200 == 0; }

  /// Records of the GPU are handed over some time after they were made, sometimes the later ones first.
  void deliver(std::size_t count) {
    if (count > 1 && count <= late_.size() && random_() % 3 == 0)
      std::rotate(late_.begin(), late_.begin() + static_cast<std::ptrdiff_t>(count / 2),
                  late_.begin() + static_cast<std::ptrdiff_t>(count));
    for (; count > 0 && !late_.empty(); --count) {
      late_.front()(*collector_);
      late_.pop_front();
    }
    collector_->flush();
  }
  template <typename Record>
  void later(const Record& record) {
    if (!lost()) late_.push_back([record](SpoolWriter& spool) { spool.append(record); });
  }

  /// When an operation that is asked for now runs on a stream: behind those before it.
  std::int64_t start_on(std::uint32_t stream) {
    std::int64_t& free_ns = free_ns_[stream];
    const std::int64_t start = std::max(now_ns_ + 300, free_ns);
    free_ns = start + 200 + static_cast<std::int64_t>(random_() % 1800);
    return start;
  }

  void launch(std::uint64_t handle, std::uint32_t stream) {
    const StringId name = runtime_->intern("kernel " + std::to_string(random_() % 5));
    const auto grid = static_cast<std::uint32_t>(random_() % 3 + 1);
    const bool captured = random_() % 50 == 0;
    ++operation_;
    if (!lost()) {
      runtime_->append(KernelLaunchRecord{.time_ns = now_ns_,
                                          .return_ns = now_ns_ + 100,
                                          .operation = operation_,
                                          .stream = handle,
                                          .sequence = sequence_[handle]++,
                                          .name = name,
                                          .grid = {grid, 1, 1},
                                          .block = {32, 1, 1},
                                          .device = 0,
                                          .captured = captured});
    }
    if (!live_.empty()) {
      const AccessEntry entries[] = {
          {.allocation = live_[random_() % live_.size()], .kind = AccessKind::kRead}};
      runtime_->append_accesses(now_ns_, operation_, entries);
    }
    if (captured) return;
    collector_->intern("kernel " + std::to_string(random_() % 5));
    const std::int64_t start = start_on(stream);
    later(KernelActivityRecord{.time_ns = start,
                               .end_ns = random_() % 300 == 0 ? start - 1 : free_ns_[stream],
                               .name = name,
                               .correlation_id = ++correlation_,
                               .context_id = 1,
                               .stream_id = stream,
                               .device = 0,
                               .grid = {grid, 1, 1},
                               .block = {32, 1, 1}});
  }

  void graph() {
    ++operation_;
    runtime_->append(GraphLaunchRecord{.time_ns = now_ns_,
                                       .operation = operation_,
                                       .stream = kNamed,
                                       .sequence = sequence_[kNamed]++,
                                       .graph = 77,
                                       .device = 0});
    ++correlation_;
    for (std::uint64_t node = 1; node <= 3; ++node) {
      later(KernelActivityRecord{.time_ns = start_on(13),
                                 .end_ns = free_ns_[13],
                                 .graph_node_id = node,
                                 .graph_id = 4,
                                 .correlation_id = correlation_,
                                 .context_id = 1,
                                 .stream_id = 13,
                                 .device = 0});
    }
  }

  void copy() {
    const auto bytes = static_cast<std::int64_t>(4096 * (random_() % 3 + 1));
    ++operation_;
    runtime_->append(MemcpyCallRecord{.time_ns = now_ns_,
                                      .operation = operation_,
                                      .stream = kNamed,
                                      .sequence = sequence_[kNamed]++,
                                      .bytes = bytes,
                                      .device = 0,
                                      .kind = CopyKind::kHostToDevice});
    later(MemcpyActivityRecord{.time_ns = start_on(13),
                               .end_ns = free_ns_[13],
                               .bytes = bytes,
                               .correlation_id = ++correlation_,
                               .context_id = 1,
                               .stream_id = 13,
                               .device = 0,
                               .kind = CopyKind::kHostToDevice});
  }

  void move() {
    if (live_.empty()) return;
    runtime_->append(
        TransferRecord{.time_ns = now_ns_,
                       .allocation = live_[random_() % live_.size()],
                       .operation = operation_,
                       .bytes = 1 << 21,
                       .stream = kOwn,
                       .sequence = sequence_[kOwn]++,
                       .device = 0,
                       .kind = random_() % 8 == 0 ? TransferKind::kDiscard : TransferKind::kPark});
    later(MemcpyActivityRecord{.time_ns = start_on(20),
                               .end_ns = free_ns_[20],
                               .bytes = 1 << 21,
                               .correlation_id = ++correlation_,
                               .context_id = 1,
                               .stream_id = 20,
                               .device = 0,
                               .kind = CopyKind::kDeviceToHost});
  }

  void allocate() {
    live_.push_back(++allocation_);
    runtime_->append(AllocationRecord{.time_ns = now_ns_,
                                      .allocation = allocation_,
                                      .address = allocation_ << 20,
                                      .bytes = static_cast<std::int64_t>(random_() % 1000),
                                      .device = 0});
  }
  void free() {
    if (live_.empty()) return;
    const std::size_t at = random_() % live_.size();
    runtime_->append(FreeRecord{.time_ns = now_ns_, .allocation = lost() ? 999'999 : live_[at]});
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Random random_;
  std::unique_ptr<SpoolWriter> runtime_, collector_;
  std::int64_t now_ns_ = 1'000'000;
  std::uint64_t operation_ = 0, allocation_ = 0;
  std::uint32_t correlation_ = 0;
  std::map<std::uint64_t, std::uint64_t> sequence_;
  std::map<std::uint32_t, std::int64_t> free_ns_;
  std::vector<std::uint64_t> live_;
  std::deque<std::function<void(SpoolWriter&)>> late_;
};

/// Everything in a session but the ids of rows, in an order of its own.
std::string contents(const std::string& path) {
  constexpr const char* kQueries[] = {
      "SELECT operation, string.value, grid_x, start_ns, end_ns, correlation_id, graph_node_id, call_ns, "
      "return_ns, "
      "kernel.owner, cupti_stream_id, stream.handle FROM kernel LEFT JOIN string ON string.id = name_id LEFT "
      "JOIN "
      "stream ON stream.id = stream_id",
      "SELECT operation, bytes, kind, start_ns, end_ns, correlation_id, call_ns, memcpy.owner, "
      "cupti_stream_id FROM "
      "memcpy LEFT JOIN stream ON stream.id = stream_id",
      "SELECT operation, correlation_id, call_ns FROM graph_launch",
      "SELECT id, allocation, bytes, alloc_ns, free_ns FROM allocation",
      "SELECT operation, allocation, access.kind FROM access LEFT JOIN allocation ON allocation.id = "
      "allocation_id",
      "SELECT swap.kind, allocation, swap.bytes, submit_ns, start_ns FROM swap LEFT JOIN allocation ON "
      "allocation.id = "
      "allocation_id LEFT JOIN memcpy ON memcpy.id = memcpy_id",
      "SELECT what, reason, count FROM loss",
      "SELECT key, value FROM meta WHERE key <> 'created'",
      "SELECT cupti_stream_id, handle, owner FROM stream",
      "SELECT host, start_ns IS NULL, end_ns FROM process"};
  Session session = Session::open(path);
  std::string all;
  for (const char* query : kQueries) {
    std::vector<std::string> lines;
    Statement statement(session.database(), query);
    while (statement.step()) {
      std::string line;
      for (int column = 0; column < statement.column_count(); ++column)
        line += (statement.is_null(column) ? "NULL" : statement.shown(column)) + "|";
      lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    all += std::string(query) + "\n";
    for (const std::string& line : lines) all += line + "\n";
  }
  return all;
}

std::string ingested(const TestDirectory& directory, const std::vector<std::string>& paths,
                     std::int64_t window_bytes) {
  const std::string path = directory / "a.tferry";
  SessionWriter writer = SessionWriter::create(path, {.force = true, .build_directory = {}});
  ingest(Recording::read(paths), writer, window_bytes);
  writer.publish();
  return contents(path);
}

TEST(WindowedIngest, SmallWindowsGiveWhatALargeOneGives) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const TestDirectory directory;
    RandomJob job(directory, seed);
    job.run(3000);
    const std::string whole = ingested(directory, job.paths(), std::int64_t{1} << 40);
    for (const std::int64_t window : {1, 20'000, 150'000}) {
      const std::string pieces = ingested(directory, job.paths(), window);
      if (pieces == whole) continue;
      const auto [a, b] = std::mismatch(whole.begin(), whole.end(), pieces.begin(), pieces.end());
      const auto near = [](const std::string& text, std::size_t at) {
        return text.substr(at < 200 ? 0 : at - 200, 400);
      };
      ADD_FAILURE() << "seed " << seed << ", windows of " << window << " bytes: whole\n"
                    << near(whole, static_cast<std::size_t>(a - whole.begin())) << "\npieces\n"
                    << near(pieces, static_cast<std::size_t>(b - pieces.begin()));
    }
  }
}

}  // namespace
}  // namespace tferry::trace
