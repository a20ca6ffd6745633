// Whether an evicting stream that gives up its channel after each piece lets others at the copy engine: how
// long a small copy of the program waits, what a mapping call costs, and what the evictions lose by it.
#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/copy_pump.hpp"
#include "benchmarks/experiments/experiments.hpp"

#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

enum class Order {
  kOneStream,   // pieces one behind the other
  kTwoStreams,  // piece n in stream n % 2, behind an event of piece n - 1
  kThreeStreams,
  kWaitBetween  // one stream; between two pieces it waits for another stream, which waits for the first piece
};

constexpr struct {
  Order order;
  const char* name;
} kOrders[] = {{Order::kOneStream, "one_stream"},
               {Order::kTwoStreams, "two_streams"},
               {Order::kThreeStreams, "three_streams"},
               {Order::kWaitBetween, "wait_between"}};

class Backlog {
 public:
  Backlog(Order order, std::size_t piece) : order_(order), piece_(piece), events_(2 * kMost) {}

  // Queues `pieces` copies to the host, none of which waits for anything but the one before.
  void queue(std::size_t pieces) {
    const std::size_t streams = order_ == Order::kThreeStreams ? 3 : order_ == Order::kTwoStreams ? 2 : 1;
    begin_.record(streams_[0]);
    for (std::size_t n = 0; n < pieces; ++n) {
      const Stream& stream = streams_[n % streams];
      if (n > 0 && order_ != Order::kOneStream) wait_for_piece(n - 1, stream);
      const std::size_t at = n * piece_ % PumpBuffers::kBytes;
      TFERRY_CU(cuMemcpyDtoHAsync(buffers_.host() + at, buffers_.device() + at, piece_, stream.get()));
      if (order_ != Order::kOneStream) events_[n].record(stream);
      last_ = &stream;
    }
    end_.record(*last_);
    bytes_ = pieces * piece_;
  }
  void finish() const { last_->synchronize(); }
  bool done() const { return cuStreamQuery(last_->get()) == CUDA_SUCCESS; }
  // Of the last backlog, finished.
  double gbps() const { return static_cast<double>(bytes_) / elapsed_ms(begin_, end_) / 1e6; }

  static constexpr std::size_t kMost = 512;

 private:
  void wait_for_piece(std::size_t n, const Stream& stream) {
    if (order_ != Order::kWaitBetween) {
      TFERRY_CU(cuStreamWaitEvent(stream.get(), events_[n].get(), 0));
      return;
    }
    TFERRY_CU(cuStreamWaitEvent(helper_.get(), events_[n].get(), 0));
    events_[kMost + n].record(helper_);
    TFERRY_CU(cuStreamWaitEvent(stream.get(), events_[kMost + n].get(), 0));
  }

  Order order_;
  std::size_t piece_;
  PumpBuffers buffers_;
  Stream streams_[3];
  Stream helper_;
  std::vector<Event> events_;
  Event begin_{true};
  Event end_{true};
  const Stream* last_ = nullptr;
  std::size_t bytes_ = 0;
};

json rate(Backlog& backlog, std::size_t pieces) {
  std::vector<double> rates;
  for (int round = 0; round < 6; ++round) {
    backlog.queue(pieces);
    backlog.finish();
    if (round > 0) rates.push_back(backlog.gbps());
  }
  return summarize(rates);
}

json small_copy(Backlog& backlog, std::size_t pieces) {
  const DeviceBuffer device(4);
  void* host = nullptr;
  TFERRY_CU(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE));
  const Stream program;
  std::vector<double> waits;
  for (int round = 0; round < 15; ++round) {
    backlog.queue(pieces);
    waits.push_back(time_us([&] {
      TFERRY_CU(cuMemcpyDtoHAsync(host, device.get(), 4, program.get()));
      program.synchronize();
    }));
    backlog.finish();
  }
  TFERRY_CU(cuMemFreeHost(host));
  return summarize(waits);
}

json mapping(Backlog& backlog, const ChunkPool& pool, CUdeviceptr address, std::size_t pieces) {
  std::vector<double> access;
  for (int round = 0; round < 3; ++round) {
    backlog.queue(pieces);
    while (!backlog.done()) {
      map_chunk(address, pool, 0);
      access.push_back(time_us([&] { allow_access(address, pool.chunk_bytes()); }));
      unmap(address, pool.chunk_bytes());
    }
  }
  return summarize(access);
}

}  // namespace

void run_interleave(Report& report) {
  ChunkPool pool(4 * kMiB, Location::kDevice);
  pool.grow();
  const ReservedRange range(4 * kMiB);
  for (const std::size_t mib : {4, 8, 16}) {
    for (const auto& [order, name] : kOrders) {
      report.section(std::string(name) + "_" + std::to_string(mib) + "_MiB", [&](json& found) {
        Backlog backlog(order, mib * kMiB);
        const std::size_t gib = kGiB / (mib * kMiB);
        found["d2h_gbps"] = rate(backlog, 2 * gib);
        {
          const CopyPump in(Direction::kHostToDevice, 16 * kMiB);
          found["d2h_gbps_beside_h2d"] = rate(backlog, 2 * gib);
        }
        found["small_d2h_us_behind_256_MiB"] = small_copy(backlog, gib / 4);
        found["small_d2h_us_behind_1_GiB"] = small_copy(backlog, gib);
        found["set_access_us"] = mapping(backlog, pool, range.base(), gib);
      });
    }
  }
}

}  // namespace tferry::experiments
