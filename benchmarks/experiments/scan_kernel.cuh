// The device scan, compiled twice: by nvcc for the card into the program, and to PTX text for old and new
// cards alike.
#pragma once

#include <cstdint>

namespace tferry::experiments {

inline __device__ void scan_word(std::uint64_t word, std::uint64_t base, std::uint64_t range,
                                 unsigned* bitmap, unsigned long long* hits) {
  const std::uint64_t offset = word - base;
  if (offset >= range) return;
  const std::uint64_t chunk = offset >> 21;
  atomicOr(&bitmap[chunk >> 5], 1u << (chunk & 31));
  atomicAdd(hits, 1ull);
}

inline __device__ void scan_memory(const ulonglong2* memory, std::uint64_t count, std::uint64_t base,
                                   std::uint64_t range, unsigned* bitmap, unsigned long long* hits) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const ulonglong2 a = memory[i];
    const ulonglong2 b = memory[i + stride];
    const ulonglong2 c = memory[i + 2 * stride];
    const ulonglong2 d = memory[i + 3 * stride];
    scan_word(a.x, base, range, bitmap, hits);
    scan_word(a.y, base, range, bitmap, hits);
    scan_word(b.x, base, range, bitmap, hits);
    scan_word(b.y, base, range, bitmap, hits);
    scan_word(c.x, base, range, bitmap, hits);
    scan_word(c.y, base, range, bitmap, hits);
    scan_word(d.x, base, range, bitmap, hits);
    scan_word(d.y, base, range, bitmap, hits);
  }
  for (; i < count; i += stride) {
    const ulonglong2 a = memory[i];
    scan_word(a.x, base, range, bitmap, hits);
    scan_word(a.y, base, range, bitmap, hits);
  }
}

}  // namespace tferry::experiments
