#pragma once

#include <cstdint>
#include <string>

namespace tferry::samples {

/// What both layers programs take on their command lines.
struct LayersOptions {
  int buffers = 16;  ///< large buffers alive at the peak, at least 4
  int mib = 64;      ///< size of each
  int iterations = 6;
  int streams = 3;
  int work = 4;    ///< multiplications an element in every combination: the kernels' length
  int hidden = 2;  ///< weights that kernels reach by a table in device memory only
  int device = 0;
  std::uint64_t seed = 1;
  bool stream_ordered = false;  ///< allocate by cudaMallocAsync, cuMemAllocAsync
  bool plan_only = false;       ///< print the footprint and the known answers, and stop

  int layers() const { return (buffers - 2) / 2; }
  std::uint64_t count() const { return static_cast<std::uint64_t>(mib) * (std::uint64_t{1} << 20) / 8; }
};

/// Reads the command line. Returns -1 to go on, or the exit code when the program has to stop now: 0 after
/// --help, 2 after a wrong option, which it has explained on stderr.
int parse_layers_options(int argc, char** argv, const std::string& description, LayersOptions& options);

}  // namespace tferry::samples
