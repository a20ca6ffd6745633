// The GPU side of the experiments, callable from plain C++; kernels.cu is the only file that nvcc compiles.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace tferry::experiments {

/// A kernel that does nothing, for measuring launches.
void launch_empty(CUstream stream);

/// Copies `words` of 4 bytes by one block; either side may be host memory that the GPU can reach.
void launch_copy(CUdeviceptr destination, CUdeviceptr source, unsigned words, CUstream stream);

/// Pure arithmetic on `blocks` blocks of 256 threads, some 10 µs per 10,000 `iterations`; writes to `sink` (4
/// bytes, device memory) only to keep the compiler from removing it.
void launch_burn(CUdeviceptr sink, int blocks, std::int64_t iterations, CUstream stream);

/// Result of one scan, in device memory.
struct ScanResult {
  unsigned long long hits;
};

/// Looks at every aligned 8-byte word of [memory, memory + bytes) (16-byte aligned, whole 16s). A word w with
/// w - base < range sets bit (w - base) / 2 MiB of `bitmap` and counts in `result`.
void launch_scan(CUdeviceptr memory, std::size_t bytes, std::uint64_t base, std::uint64_t range,
                 CUdeviceptr bitmap, CUdeviceptr result, CUstream stream);

/// Blocks and threads that launch_scan uses, for launching the same kernel from embedded PTX.
inline constexpr unsigned kScanBlocks = 132 * 8;
inline constexpr unsigned kScanThreads = 256;

/// What launch_fill writes.
enum class Fill {
  kZeroWithPointers,      // zeros; every `period`-th 8-byte word is base plus a hash, within range
  kFloatNormal,           // float32, standard normal
  kFloatNormalRectified,  // the same after max(x, 0)
  kBfloatNormal,          // bf16, standard normal
  kTokenIds,              // int64 in [0, 50257)
  kTokenIds32,            // int32 in [0, 50257)
  kRandomBytes,
};

struct FillPattern {
  Fill fill;
  std::uint64_t base;
  std::uint64_t range;
  std::uint64_t period;
};

/// Fills [memory, memory + bytes), a multiple of 8 bytes.
void launch_fill(CUdeviceptr memory, std::size_t bytes, FillPattern pattern, CUstream stream);

/// How the reader of launch_pair depends on the writer before it.
enum class Dependency {
  kFull,          // an ordinary launch in stream order
  kProgrammatic,  // programmatic stream serialisation; the reader waits for the writer's grid on the GPU
  kProgrammaticNoWait,  // the same, but the reader does not wait: what goes wrong if a program forgets it
};

/// A writer that stores `value` into every 32-bit word of [written, written + bytes), slowly, after it let
/// its dependents start; then a reader that (with `read_before`) reads [read, read + bytes) first, waits as
/// `dependency` says, reads again and adds the number of words that are not `value` to *stale (8 bytes,
/// device memory).
void launch_pair(CUdeviceptr written, CUdeviceptr read, std::size_t bytes, std::uint32_t value,
                 Dependency dependency, bool read_before, CUdeviceptr stale, CUdeviceptr sink,
                 CUstream stream);

}  // namespace tferry::experiments
