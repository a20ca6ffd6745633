#include "benchmarks/experiments/chunks.hpp"
#include "benchmarks/experiments/experiments.hpp"
#include "benchmarks/experiments/kernels.hpp"

#include <string>
#include <vector>

namespace tferry::experiments {
namespace {

using nlohmann::json;

constexpr int kRounds = 300;

void stale_words(json& found, CUdeviceptr written, CUdeviceptr read, std::size_t bytes, Dependency dependency,
                 bool read_before) {
  const DeviceBuffer stale(8);
  const DeviceBuffer sink(4);
  const Stream stream;
  std::uint64_t words = 0;
  std::uint64_t rounds = 0;
  const double us = time_us([&] {
    for (int round = 1; round <= kRounds; ++round) {
      TFERRY_CU(cuMemsetD8Async(stale.get(), 0, 8, stream.get()));
      // The value differs from every earlier round's and section's, so that an old word is told from a new
      // one.
      static std::uint32_t value = 0;
      launch_pair(written, read, bytes, ++value, dependency, read_before, stale.get(), sink.get(),
                  stream.get());
      stream.synchronize();
      std::uint64_t count = 0;
      TFERRY_CU(cuMemcpyDtoH(&count, stale.get(), 8));
      words += count;
      rounds += count != 0;
    }
  });
  found = {{"rounds", kRounds},
           {"rounds_with_stale_words", rounds},
           {"stale_words", words},
           {"words", static_cast<std::uint64_t>(kRounds) * bytes / 4},
           {"us_per_round", us / kRounds}};
}

}  // namespace

void run_pdl_alias(Report& report) {
  for (const std::size_t bytes : {256 * 1024 * std::size_t{1}, 8 * kMiB}) {
    const MappedChunks chunk(8 * kMiB, 1, Location::kDevice);
    const ReservedRange other(8 * kMiB);
    map_chunk(other.base(), chunk.pool(), 0);
    allow_access(other.base(), 8 * kMiB);
    const std::pair<const char*, Dependency> dependencies[] = {
        {"full", Dependency::kFull},
        {"programmatic_wait", Dependency::kProgrammatic},
        {"programmatic_no_wait", Dependency::kProgrammaticNoWait}};
    for (const auto& [name, dependency] : dependencies) {
      for (const bool alias : {false, true}) {
        for (const bool read_before : {false, true}) {
          report.section(std::to_string(bytes / 1024) + "_KiB_" + name + (alias ? "_alias" : "_same") +
                             (read_before ? "_read_before" : ""),
                         [&](json& found) {
                           stale_words(found, chunk.base(), alias ? other.base() : chunk.base(), bytes,
                                       dependency, read_before);
                         });
        }
      }
    }
    unmap(other.base(), 8 * kMiB);
  }
}

}  // namespace tferry::experiments
