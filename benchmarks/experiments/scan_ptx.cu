#include "benchmarks/experiments/scan_kernel.cuh"

extern "C" __global__ void tferry_scan(const ulonglong2* memory, std::uint64_t count, std::uint64_t base,
                                       std::uint64_t range, unsigned* bitmap, unsigned long long* hits) {
  tferry::experiments::scan_memory(memory, count, base, range, bitmap, hits);
}
