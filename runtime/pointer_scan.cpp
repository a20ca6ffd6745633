#include "runtime/pointer_scan.hpp"

#include "runtime/pointer_scan_ptx.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tferry::runtime {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 1024;
constexpr std::size_t kStagingBytes = std::size_t{16} << 20;

}  // namespace

bool PointerScan::load() {
  if (tried_) return kernel_ != nullptr;
  tried_ = true;
  CUmodule module = nullptr;
  if (driver_.cuModuleLoadData(&module, kPointerScanPtx) != CUDA_SUCCESS) return false;
  if (driver_.cuModuleGetFunction(&kernel_, module, "tferry_pointer_scan") != CUDA_SUCCESS) kernel_ = nullptr;
  return kernel_ != nullptr;
}

PointerScan::Hits PointerScan::find_pages(std::span<const Region> regions, Range range,
                                          std::size_t page_bytes, CUstream stream) {
  Hits hits;
  if (range.end <= range.begin || regions.empty()) return hits;
  const auto shift = static_cast<unsigned>(std::countr_zero(page_bytes));
  const std::size_t pages = (range.end - range.begin + page_bytes - 1) >> shift;
  std::vector<std::uint32_t> bits((pages + 31) / 32, 0);
  if (!load() || !search_on_device(regions, range, shift, stream, bits)) {
    const CUresult result = search_on_host(regions, range, shift, stream, bits);
    hits.complete = result == CUDA_SUCCESS;
    if (!hits.complete) hits.error = cuda::error_name(driver_, result);
  }
  for (std::size_t page = 0; page < pages; ++page) {
    if ((bits[page / 32] >> (page % 32) & 1U) != 0) hits.pages.push_back(range.begin + (page << shift));
  }
  return hits;
}

bool PointerScan::search_on_device(std::span<const Region> regions, Range range, unsigned shift,
                                   CUstream stream, std::vector<std::uint32_t>& bits) {
  const std::size_t bytes = bits.size() * sizeof bits[0];
  CUdeviceptr map = 0;
  if (driver_.cuMemAlloc_v2(&map, bytes) != CUDA_SUCCESS) return false;
  bool good = driver_.cuMemsetD8Async(map, 0, bytes, stream) == CUDA_SUCCESS;
  for (const Region& region : regions) {
    CUdeviceptr begin = region.begin;
    std::uint64_t words = region.bytes / sizeof(std::uint64_t);
    std::uint64_t low = range.begin;
    std::uint64_t span = range.end - range.begin;
    unsigned page_shift = shift;
    void* arguments[] = {&begin, &words, &low, &span, &page_shift, &map};
    good = good && driver_.cuLaunchKernel(kernel_, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, arguments,
                                          nullptr) == CUDA_SUCCESS;
  }
  good = good && driver_.cuMemcpyDtoHAsync_v2(bits.data(), map, bytes, stream) == CUDA_SUCCESS;
  good = driver_.cuStreamSynchronize(stream) == CUDA_SUCCESS && good;
  driver_.cuMemFree_v2(map);
  return good;
}

CUresult PointerScan::search_on_host(std::span<const Region> regions, Range range, unsigned shift,
                                     CUstream stream, std::vector<std::uint32_t>& bits) {
  std::fill(bits.begin(), bits.end(), 0);
  void* staging = nullptr;
  CUresult result = driver_.cuMemHostAlloc(&staging, kStagingBytes, 0);
  if (result != CUDA_SUCCESS) return result;
  const auto* words = static_cast<const std::uint64_t*>(staging);
  for (const Region& region : regions) {
    for (std::size_t at = 0; at < region.bytes && result == CUDA_SUCCESS; at += kStagingBytes) {
      const std::size_t bytes = std::min(kStagingBytes, region.bytes - at);
      result = driver_.cuMemcpyDtoHAsync_v2(staging, region.begin + at, bytes, stream);
      if (result == CUDA_SUCCESS) result = driver_.cuStreamSynchronize(stream);
      if (result != CUDA_SUCCESS) break;
      for (std::size_t i = 0; i < bytes / sizeof words[0]; ++i) {
        const std::uint64_t offset = words[i] - range.begin;
        if (offset < range.end - range.begin) bits[offset >> shift >> 5] |= 1U << (offset >> shift & 31);
      }
    }
  }
  driver_.cuMemFreeHost(staging);
  return result;
}

}  // namespace tferry::runtime
