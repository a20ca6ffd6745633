#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/copy_pump.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/host_memory.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

constexpr std::size_t kRegion = 512 * kMiB;

// Two regions of pinned memory of one kind, each kRegion long, as addresses that copies accept.
class HostRegions {
 public:
  explicit HostRegions(const std::string& kind) {
    for (int i = 0; i < 2; ++i) {
      if (kind == "host_numa_chunks") {
        chunks_.push_back(
            std::make_unique<MappedChunks>(32 * kMiB, kRegion / (32 * kMiB), Location::kHostNuma));
        addresses_.push_back(chunks_.back()->base());
      } else {
        slabs_.push_back(kind == "host_alloc" ? HostSlab::from_driver(kRegion)
                                              : HostSlab::registered(kRegion, kind == "registered_huge", 4));
        addresses_.push_back(reinterpret_cast<CUdeviceptr>(slabs_.back()->data()));
      }
    }
  }
  CUdeviceptr in() const { return addresses_[0]; }
  CUdeviceptr out() const { return addresses_[1]; }

 private:
  std::vector<std::unique_ptr<MappedChunks>> chunks_;
  std::vector<std::unique_ptr<HostSlab>> slabs_;
  std::vector<CUdeviceptr> addresses_;
};

struct Lane {
  CUdeviceptr to;
  CUdeviceptr from;
  Stream stream;
  Event begin{true};
  Event end{true};

  Lane(CUdeviceptr to_address, CUdeviceptr from_address) : to(to_address), from(from_address) {}

  void queue(std::size_t piece) {
    begin.record(stream);
    for (std::size_t at = 0; at + piece <= kRegion; at += piece) {
      TFERRY_CU(cuMemcpyAsync(to + at, from + at, piece, stream.get()));
    }
    end.record(stream);
  }
  double gbps() const {
    end.synchronize();
    return static_cast<double>(kRegion) / elapsed_ms(begin, end) / 1e6;
  }
};

json rates(CUdeviceptr device_in, CUdeviceptr device_out, const HostRegions& host, std::size_t piece) {
  Lane in(device_in, host.in());
  Lane out(host.out(), device_out);
  in.queue(piece);
  in.gbps();
  json found;
  in.queue(piece);
  found["h2d"] = in.gbps();
  out.queue(piece);
  found["d2h"] = out.gbps();
  in.queue(piece);
  out.queue(piece);
  found["both_h2d"] = in.gbps();
  found["both_d2h"] = out.gbps();
  return found;
}

void copy_rates(json& found, std::size_t chunk_mib, const std::string& kind) {
  const MappedChunks in(chunk_mib * kMiB, kRegion / (chunk_mib * kMiB), Location::kDevice);
  const MappedChunks out(chunk_mib * kMiB, kRegion / (chunk_mib * kMiB), Location::kDevice);
  const HostRegions host(kind);
  for (const std::size_t piece : {2, 8, 16, 32, 128}) {
    found["copies_of_" + std::to_string(piece) + "_MiB"] = rates(in.base(), out.base(), host, piece * kMiB);
  }
}

// How long 4 bytes take, asked for while `ahead` pieces of 16 MiB stand queued in `ours`.
json small_copy_wait(const PumpBuffers& buffers, Direction ours, Direction theirs, bool pageable, int ahead) {
  constexpr std::size_t kPiece = 16 * kMiB;
  const DeviceBuffer device(4);
  const auto pinned = HostSlab::from_driver(4096);
  std::vector<std::byte> ordinary(4096);
  void* const host = pageable ? static_cast<void*>(ordinary.data()) : pinned->data();
  const Stream queue;
  const Stream program;
  std::vector<double> waits;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < ahead; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * kPiece % PumpBuffers::kBytes;
      if (ours == Direction::kDeviceToHost) {
        TFERRY_CU(cuMemcpyDtoHAsync(buffers.host() + at, buffers.device() + at, kPiece, queue.get()));
      } else {
        TFERRY_CU(cuMemcpyHtoDAsync(buffers.device() + at, buffers.host() + at, kPiece, queue.get()));
      }
    }
    waits.push_back(time_us([&] {
      if (theirs == Direction::kDeviceToHost) {
        TFERRY_CU(cuMemcpyDtoHAsync(host, device.get(), 4, program.get()));
      } else {
        TFERRY_CU(cuMemcpyHtoDAsync(device.get(), host, 4, program.get()));
      }
      program.synchronize();
    }));
    queue.synchronize();
  }
  return summarize(waits);
}

void small_copies(json& found) {
  const PumpBuffers buffers;
  const auto name = [](Direction d) { return d == Direction::kDeviceToHost ? "d2h" : "h2d"; };
  for (const auto ours : {Direction::kDeviceToHost, Direction::kHostToDevice}) {
    for (const auto theirs : {Direction::kDeviceToHost, Direction::kHostToDevice}) {
      for (const bool pageable : {false, true}) {
        json& entry =
            found[std::string(name(theirs)) + "_behind_" + name(ours) + (pageable ? "_pageable" : "_pinned")];
        for (const int ahead : {0, 1, 2, 8, 64}) {
          entry[std::to_string(ahead) + "_ahead_us"] =
              small_copy_wait(buffers, ours, theirs, pageable, ahead);
        }
      }
    }
  }
}

}  // namespace

void run_copy_pieces(Report& report) {
  report.section("small_copies", small_copies);
  for (const char* kind : {"host_alloc", "registered_4k", "registered_huge", "host_numa_chunks"}) {
    for (const std::size_t chunk : {2, 8, 32}) {
      report.section("chunks_" + std::to_string(chunk) + "_MiB_" + kind,
                     [&](json& found) { copy_rates(found, chunk, kind); });
    }
  }
}

}  // namespace tferry::experiments
