// What the emulation of naive managed memory (`--policy naive-um`) and the managed mode rest on: the rate at
// which kernels fault data in from host memory, and the rates of prefetching both ways, by size and number of
// threads. Never more managed memory than the card has free (FACTS.md).
#include "benchmarks/experiments/driver.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t kBytes = 4 * kGiB;
constexpr int kRounds = 4;
constexpr std::size_t kDiscardPiece = 64 * kMiB;

class ManagedBuffer {
 public:
  ManagedBuffer() {
    if (free_device_bytes() < 2 * kBytes) throw std::runtime_error("less than 8 GiB are free on the card");
    TFERRY_CU(cuMemAllocManaged(&address_, kBytes, CU_MEM_ATTACH_GLOBAL));
    fill();
  }
  ~ManagedBuffer() { cuMemFree(address_); }
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;

  /// A kernel writes all of it: what is in host memory comes by faults.
  void fill() const {
    launch_fill(address_, kBytes, {Fill::kRandomBytes, 0, 0, 0}, stream_.get());
    stream_.synchronize();
  }

  /// Milliseconds until all is there with no contents, by discarding prefetches of 64 MiB.
  double discard(bool to_device) const {
    return time_us([&] {
             for (std::size_t at = 0; at < kBytes; at += kDiscardPiece) {
               CUmemLocation location{};
               location.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
               CUdeviceptr address = address_ + at;
               std::size_t bytes = kDiscardPiece;
               std::size_t first = 0;
               TFERRY_CU(cuMemDiscardAndPrefetchBatchAsync(&address, &bytes, 1, &location, &first, 1, 0,
                                                           stream_.get()));
             }
             stream_.synchronize();
           }) /
           1e3;
  }

  /// Milliseconds until all is there, by calls for `piece` bytes each, from so many threads.
  double prefetch(bool to_device, std::size_t piece, int threads) const {
    const auto part = [&](int which, const Stream& stream) {
      for (std::size_t at = static_cast<std::size_t>(which) * piece; at < kBytes;
           at += static_cast<std::size_t>(threads) * piece) {
        CUmemLocation location{};
        location.type = to_device ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
        TFERRY_CU(cuMemPrefetchAsync(address_ + at, std::min(piece, kBytes - at), location, 0, stream.get()));
      }
      stream.synchronize();
    };
    return time_us([&] {
             std::vector<std::thread> others;
             for (int which = 1; which < threads; ++which) {
               others.emplace_back([&, which] {
                 use_device();
                 const Stream stream;
                 part(which, stream);
               });
             }
             part(0, stream_);
             for (std::thread& other : others) other.join();
           }) /
           1e3;
  }

 private:
  CUdeviceptr address_ = 0;
  Stream stream_;
};

double gbps(double ms) { return static_cast<double>(kBytes) / ms / 1e6; }

}  // namespace

void run_managed(Report& report) {
  const ManagedBuffer buffer;
  report.section("first_eviction", [&](json& found) {
    found["d2h_gbps"] = gbps(buffer.prefetch(false, 64 * kMiB, 1));  // host pages are made, too
  });
  report.section("faults", [&](json& found) {
    std::vector<double> rates;
    for (int round = 0; round < kRounds; ++round) {
      buffer.prefetch(false, 64 * kMiB, 1);
      rates.push_back(gbps(time_us([&] { buffer.fill(); }) / 1e3));
    }
    found["h2d_gbps"] = summarize(rates);
  });
  report.section("both_ways", [&](json& found) {
    // One buffer leaves while another comes, as under a budget: do they get in each other's way?
    const ManagedBuffer other;
    std::vector<double> out, in, together;
    for (int round = 0; round < kRounds; ++round) {
      buffer.prefetch(true, 512 * kMiB, 1);
      other.prefetch(false, 64 * kMiB, 1);
      const double total = time_us([&] {
                             std::thread leaving([&] {
                               use_device();
                               out.push_back(gbps(buffer.prefetch(false, 64 * kMiB, 1)));
                             });
                             in.push_back(gbps(other.prefetch(true, 64 * kMiB, 1)));
                             leaving.join();
                           }) /
                           1e3;
      together.push_back(2 * gbps(total));
    }
    found["to_host_gbps"] = summarize(out);
    found["to_device_gbps"] = summarize(in);
    found["both_gbps"] = summarize(together);
  });
  report.section("discard", [&](json& found) {
    std::vector<double> to_host, to_device, after;
    for (int round = 0; round < kRounds; ++round) {
      buffer.prefetch(true, 512 * kMiB, 1);
      to_host.push_back(gbps(buffer.discard(false)));
      to_device.push_back(gbps(buffer.discard(true)));
      buffer.fill();
      after.push_back(gbps(buffer.prefetch(false, 64 * kMiB, 1)));  // are host pages made anew?
    }
    found["discard_to_host_gbps"] = summarize(to_host);
    found["discard_to_device_gbps"] = summarize(to_device);
    found["to_host_after_discard_gbps"] = summarize(after);
  });
  for (const std::size_t mib : {2, 16, 64, 512}) {
    for (const int threads : {1, 2, 4, 8}) {
      report.section(std::to_string(mib) + "_MiB_" + std::to_string(threads) + "_threads", [&](json& found) {
        std::vector<double> out, in;
        for (int round = 0; round < kRounds; ++round) {
          buffer.prefetch(true, 512 * kMiB, 1);
          out.push_back(gbps(buffer.prefetch(false, mib * kMiB, threads)));
          in.push_back(gbps(buffer.prefetch(true, mib * kMiB, threads)));
        }
        found["to_host_gbps"] = summarize(out);
        found["to_device_gbps"] = summarize(in);
      });
    }
  }
}

}  // namespace tferry::experiments
