#include "cli/demo/synthetic_session.hpp"

#include "cli/failure.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace tferry::cli {
namespace {

constexpr int kRanks = 2;
constexpr int kKernelsPerIteration = 2'000;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kStart = 1'000'000'000;
constexpr double kBytesPerNs = 50;  // of a link alone
constexpr std::int64_t kMostEvents = 2'000'000'000;

/// Shares of all events.
constexpr double kMemsets = 0.03, kCopies = 0.06, kCounters = 0.16, kMarkers = 0.02, kAllocations = 0.01;

/// splitmix64 (Steele, Lea, Flood, 2014): the same numbers with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// From `low` to below `high`.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() %
                                           static_cast<std::uint64_t>(std::max<std::int64_t>(1, high - low)));
  }

 private:
  std::uint64_t state_;
};

/// Rank and GPU have the same number.
template <typename Row>
void put_on(Row& row, std::int64_t id) {
  row.process_id = id;
  row.device_id = id;
}

class Synthesis {
 public:
  Synthesis(trace::SessionWriter& writer, const SyntheticOptions& options,
            const std::function<void(double)>& progress)
      : writer_(writer), options_(options), progress_(progress) {}

  std::int64_t write() {
    describe();
    const std::int64_t each = options_.events / kRanks;
    for (int rank = 0; rank < kRanks; ++rank) write_rank(rank, each);
    return written_;
  }

 private:
  void describe() {
    writer_.set_meta("synthetic",
                     fmt::format("tferry demo --synthesize {} --seed {}", options_.events, options_.seed));
    writer_.set_meta("created_by", std::string("tferry ") + TFERRY_VERSION);
    writer_.set_meta("clock", "CLOCK_MONOTONIC");
    constexpr std::array kFamilies = {"gemm",    "attention", "layer_norm", "gelu",
                                      "softmax", "add",       "reduce",     "adam"};
    for (const char* family : kFamilies) {
      for (int variant = 0; variant < 5; ++variant)
        kernels_.push_back(writer_.intern(fmt::format("synthetic_{}_{}", family, 64 << variant)));
    }
    forward_ = writer_.intern("forward");
    backward_ = writer_.intern("backward");
    for (const char* counter :
         {"pcie__read_bytes.sum", "pcie__write_bytes.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"})
      counters_.push_back(writer_.intern(counter));
  }

  void write_rank(int rank, std::int64_t events) {
    const std::int64_t id = rank + 1;
    trace::DeviceRow device;
    device.id = id;
    device.uuid = fmt::format("GPU-synthetic-{}", rank);
    device.name = "synthetic GPU";
    device.pci_address = fmt::format("0000:{:02x}:00.0", 0x10 + rank);
    device.memory_bytes = 80 * kGiB;
    device.pcie_generation = 5;
    device.pcie_width = 16;
    device.budget_bytes = 24 * kGiB;
    writer_.insert(device);
    trace::ProcessRow process;
    process.id = id;
    process.pid = 1000 + rank;
    process.rank = rank;
    process.world_size = kRanks;
    process.host = "synthetic";
    process.command = "synthetic job";
    process.start_ns = kStart;
    writer_.insert(process);
    writer_.insert(trace::ProcessDeviceRow{id, 0, id});
    for (int stream = 0; stream < 3; ++stream) {
      trace::StreamRow row;
      row.id = id * 10 + stream;
      row.process_id = id;
      row.device_id = id;
      row.cupti_stream_id = 7 + stream;
      row.owner = trace::StreamOwner::kProgram;
      writer_.insert(row);
    }
    Random random(options_.seed * 1000 + static_cast<std::uint64_t>(rank));
    const auto share = [events](double part) {
      return static_cast<std::int64_t>(static_cast<double>(events) * part);
    };
    const std::int64_t others =
        share(kMemsets) + share(kCopies) + share(kCounters) + share(kMarkers) + share(kAllocations);
    const std::int64_t end = write_kernels(id, events - others, share(kMemsets), share(kMarkers), random);
    write_copies(id, share(kCopies), end, random);
    write_counters(id, share(kCounters), end, random);
    write_allocations(id, share(kAllocations), end, random);
    writer_.execute(fmt::format("UPDATE process SET end_ns = {} WHERE id = {}", end, id));
  }

  void count() {
    if ((++written_ & 0xffff) == 0)
      progress_(static_cast<double>(written_) / static_cast<double>(options_.events));
  }

  std::int64_t write_kernels(std::int64_t id, std::int64_t kernels, std::int64_t memsets,
                             std::int64_t markers, Random& random) {
    std::int64_t now = kStart + 10'000'000, iteration_start = now, number = 0, left_memsets = memsets;
    const std::int64_t marker_every =
        markers > 0 ? std::max<std::int64_t>(1, kernels / markers) : kernels + 1;
    std::int64_t marker_start = now;
    for (std::int64_t i = 0; i < kernels; ++i) {
      const std::int64_t position = i % kKernelsPerIteration;
      const auto family = static_cast<std::size_t>(position * 7 % static_cast<std::int64_t>(kernels_.size()));
      trace::KernelRow row;
      put_on(row, id);
      row.stream_id = id * 10;
      row.start_ns = now;
      row.end_ns = now += 3'000 + static_cast<std::int64_t>(family) * 500 + random.between(0, 4'000);
      row.name_id = kernels_[family];
      row.grid_x = 132;
      row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
      row.block_x = 256;
      row.operation = i;
      row.call_ns = *row.start_ns - 5'000;
      row.owner = trace::StreamOwner::kProgram;
      writer_.insert(row);
      count();
      if (left_memsets > 0 && i % std::max<std::int64_t>(1, kernels / memsets) == 0) {
        trace::MemsetRow set;
        put_on(set, id);
        set.stream_id = id * 10;
        set.start_ns = now;
        set.end_ns = now += 800;
        set.bytes = 1 << 20;
        set.owner = trace::StreamOwner::kProgram;
        writer_.insert(set);
        count();
        --left_memsets;
      }
      if ((i + 1) % marker_every == 0) marker_start = write_marker(id, marker_start, now, position);
      now += random.between(300, 1'500);
      if (position != kKernelsPerIteration - 1) continue;
      writer_.insert(trace::IterationRow{0, id, number, iteration_start, now, i + 1 - kKernelsPerIteration, i,
                                         1, "period"});
      ++number;
      now += 200'000 + random.between(0, 400'000);
      iteration_start = now;
    }
    return now;
  }

  std::int64_t write_marker(std::int64_t id, std::int64_t start, std::int64_t end, std::int64_t position) {
    trace::MarkerRow row;
    row.process_id = id;
    row.thread = 1000 + id;
    row.kind = trace::MarkerKind::kRange;
    row.start_ns = start;
    row.end_ns = end;
    row.name_id = position < kKernelsPerIteration / 2 ? forward_ : backward_;
    writer_.insert(row);
    count();
    return end;
  }

  /// Both directions in turns; in every fourth stretch the other GPU copies, too, and takes half of the link.
  void write_copies(std::int64_t id, std::int64_t copies, std::int64_t end, Random& random) {
    const std::int64_t apart = std::max<std::int64_t>(1, (end - kStart) / std::max<std::int64_t>(1, copies));
    for (std::int64_t i = 0; i < copies; ++i) {
      const bool in = i / 64 % 2 == 0, shared = i / 64 % 4 == 3;
      trace::MemcpyRow row;
      put_on(row, id);
      row.stream_id = id * 10 + (in ? 1 : 2);
      row.kind = in ? trace::CopyKind::kHostToDevice : trace::CopyKind::kDeviceToHost;
      row.source_kind = in ? trace::MemoryKind::kPinned : trace::MemoryKind::kDevice;
      row.destination_kind = in ? trace::MemoryKind::kDevice : trace::MemoryKind::kPinned;
      const std::int64_t most = std::max<std::int64_t>(
          2, static_cast<std::int64_t>(static_cast<double>(apart) * kBytesPerNs * 0.45));
      row.bytes = random.between(most / 2, most);
      row.start_ns =
          kStart + 10'000'000 + i * apart + random.between(0, std::max<std::int64_t>(1, apart / 20));
      row.end_ns =
          *row.start_ns +
          static_cast<std::int64_t>(static_cast<double>(row.bytes) / kBytesPerNs * (shared ? 2 : 1)) + 1;
      row.owner = trace::StreamOwner::kProgram;
      writer_.insert(row);
      count();
    }
  }

  void write_counters(std::int64_t id, std::int64_t samples, std::int64_t end, Random& random) {
    const std::int64_t each = samples / static_cast<std::int64_t>(counters_.size());
    const std::int64_t interval = std::max<std::int64_t>(1, (end - kStart) / std::max<std::int64_t>(1, each));
    for (std::int64_t i = 0; i < each; ++i) {
      for (std::size_t counter = 0; counter < counters_.size(); ++counter) {
        const double rate = counter < 2 ? static_cast<double>(random.between(5, 28))
                                        : static_cast<double>(random.between(400, 2'400));
        writer_.insert(trace::CounterRow{id, counters_[counter], kStart + i * interval,
                                         kStart + (i + 1) * interval, rate * static_cast<double>(interval)});
        count();
      }
    }
  }

  void write_allocations(std::int64_t id, std::int64_t allocations, std::int64_t end, Random& random) {
    const std::int64_t apart =
        std::max<std::int64_t>(1, (end - kStart) / std::max<std::int64_t>(1, allocations));
    for (std::int64_t i = 0; i < allocations; ++i) {
      trace::AllocationRow row;
      put_on(row, id);
      row.allocation = i;
      row.address = static_cast<std::int64_t>(0x7000'0000'0000) + i * (64 << 20);
      row.bytes = row.reserved_bytes = random.between(1, 32) << 20;
      row.memory_kind = trace::MemoryKind::kDevice;
      row.api = trace::AllocationApi::kAlloc;
      row.alloc_ns = kStart + i * apart;
      const bool persistent = i < 100;
      if (!persistent) row.free_ns = row.alloc_ns + apart * random.between(1, 900);
      row.movable = 1;
      writer_.insert(row);
      count();
    }
  }

  trace::SessionWriter& writer_;
  const SyntheticOptions& options_;
  const std::function<void(double)>& progress_;
  std::vector<std::int64_t> kernels_, counters_;
  std::int64_t forward_ = 0, backward_ = 0, written_ = 0;
};

}  // namespace

std::int64_t parse_count(const std::string& text, const std::string& option) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const double scale = unit.empty() ? 1 : unit == "k" ? 1e3 : unit == "M" ? 1e6 : 0;
  if (error != std::errc{} || scale == 0 || !(value * scale >= 1) ||
      value * scale > static_cast<double>(kMostEvents))
    throw Failure(fmt::format("{}: {} is no number of events", option, text), "write 5000, 200k or 10M");
  return static_cast<std::int64_t>(value * scale);
}

std::int64_t write_synthetic_session(const std::string& path, const SyntheticOptions& options,
                                     const std::function<void(double)>& progress) {
  trace::SessionWriterOptions writing;
  writing.force = options.force;
  trace::SessionWriter writer = trace::SessionWriter::create(path, writing);
  const std::int64_t events = Synthesis(writer, options, progress).write();
  writer.publish();
  return events;
}

}  // namespace tferry::cli
