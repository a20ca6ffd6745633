// Preload: serves cuMemAlloc and cuMemFree from a cache over VMM chunks, below a PyTorch whose own cache is
// off, with two policies for memory that a stream capture touched: reuse it at once, or never.
#include "benchmarks/experiments/interpose.hpp"

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::size_t kChunk = std::size_t{2} << 20;

struct Block {
  std::size_t bytes;
  bool captured;  // allocated while a stream captured
};

struct Cache {
  std::mutex mutex;
  std::map<std::size_t, std::vector<CUdeviceptr>> free_blocks;
  std::unordered_map<CUdeviceptr, Block> live;
  std::int64_t capturing = 0;
  bool reuse_captured = false;
  std::uint64_t reused = 0;
  std::uint64_t held_back = 0;
};

Cache& cache() {
  static Cache* const instance = new Cache;
  return *instance;
}

// Mapping calls must not break a capture that runs in global mode on this or another thread.
class RelaxedCapture {
 public:
  RelaxedCapture() { TFERRY_REAL(cuThreadExchangeStreamCaptureMode)(&mode_); }
  ~RelaxedCapture() { TFERRY_REAL(cuThreadExchangeStreamCaptureMode)(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

CUresult map_new(std::size_t bytes, CUdeviceptr* address) {
  const RelaxedCapture relaxed;
  CUdevice device = 0;
  CUresult result = TFERRY_REAL(cuCtxGetDevice)(&device);
  if (result != CUDA_SUCCESS) return result;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  result = TFERRY_REAL(cuMemCreate)(&handle, bytes, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = TFERRY_REAL(cuMemAddressReserve)(&range, bytes, 0, 0, 0);
  if (result == CUDA_SUCCESS) result = TFERRY_REAL(cuMemMap)(range, bytes, 0, handle, 0);
  if (result == CUDA_SUCCESS) result = TFERRY_REAL(cuMemSetAccess)(range, bytes, &access, 1);
  TFERRY_REAL(cuMemRelease)(handle);
  if (result == CUDA_SUCCESS) *address = range;
  return result;
}

}  // namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t asked) {
  if (!address || asked == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t bytes = (asked + kChunk - 1) / kChunk * kChunk;
  const std::lock_guard lock(cache().mutex);
  auto& blocks = cache().free_blocks[bytes];
  if (!blocks.empty()) {
    *address = blocks.back();
    blocks.pop_back();
    ++cache().reused;
  } else {
    const CUresult result = map_new(bytes, address);
    if (result != CUDA_SUCCESS) return result;
  }
  cache().live[*address] = {bytes, cache().capturing > 0};
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  {
    const std::lock_guard lock(cache().mutex);
    const auto found = cache().live.find(address);
    if (found != cache().live.end()) {
      const Block block = found->second;
      cache().live.erase(found);
      const bool touched = block.captured || cache().capturing > 0;
      if (touched && !cache().reuse_captured) {
        ++cache().held_back;
      } else {
        cache().free_blocks[block.bytes].push_back(address);
      }
      return CUDA_SUCCESS;
    }
  }
  return TFERRY_REAL(cuMemFree_v2)(address);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  const CUresult result = TFERRY_REAL(cuStreamBeginCapture_v2)(stream, mode);
  if (result == CUDA_SUCCESS) {
    const std::lock_guard lock(cache().mutex);
    ++cache().capturing;
  }
  return result;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const CUresult result = TFERRY_REAL(cuStreamEndCapture)(stream, graph);
  const std::lock_guard lock(cache().mutex);
  if (cache().capturing > 0) --cache().capturing;
  return result;
}

void tferry_cache_policy(int reuse_captured) {
  const std::lock_guard lock(cache().mutex);
  cache().reuse_captured = reuse_captured != 0;
}
std::uint64_t tferry_cache_reused() { return cache().reused; }
std::uint64_t tferry_cache_held_back() { return cache().held_back; }
int tferry_cache_capturing() { return static_cast<int>(cache().capturing); }
}

namespace tferry::experiments {

std::span<Hook> hooks() {
  static Hook all[] = {TFERRY_HOOK(cuMemAlloc_v2), TFERRY_HOOK(cuMemFree_v2),
                       TFERRY_HOOK(cuStreamBeginCapture_v2), TFERRY_HOOK(cuStreamEndCapture)};
  return all;
}

}  // namespace tferry::experiments
