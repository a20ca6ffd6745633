// Allocation and release: what the program asks for is served by the runtime, stream-ordered or not.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

using namespace tferry::runtime;

namespace {

bool is_capturing(CUstream stream, bool per_thread) {
  if (g_capturing.load(std::memory_order_relaxed) == 0) return false;
  if (stream == nullptr) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (stream == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return real().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/// Memory of ours, or the driver's own where the runtime does not manage the device.
template <class Pass>
CUresult allocate(CUdeviceptr* address, std::size_t bytes, bool stream_ordered, Pass pass) {
  Runtime* runtime = Runtime::active();
  const ThreadOperation scope;
  if (runtime == nullptr || scope.get() == nullptr || address == nullptr || bytes == 0) return pass();
  const CUresult result = runtime->allocate(bytes, stream_ordered, address);
  return result == CUDA_ERROR_NOT_SUPPORTED ? with_retry(pass) : result;
}

template <class Pass>
CUresult allocate_ordered(CUdeviceptr* address, std::size_t bytes, CUstream stream, bool per_thread,
                          Pass pass) {
  // In a capture the allocation becomes a node that the graph owns: the driver's business.
  return is_capturing(stream, per_thread) ? pass() : allocate(address, bytes, true, pass);
}

/// Memory of a pool that the program made (it may be exported, or be on the host) stays the driver's, and is
/// noted where the job is recorded.
template <class Pass>
CUresult allocate_from_pool(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool, CUstream stream,
                            bool per_thread, Pass pass) {
  CUdevice device = 0;
  CUmemoryPool own = nullptr;
  const bool is_default = real().cuCtxGetDevice(&device) == CUDA_SUCCESS &&
                          real().cuDeviceGetDefaultMemPool(&own, device) == CUDA_SUCCESS && own == pool;
  if (is_default) return allocate_ordered(address, bytes, stream, per_thread, pass);
  const CUresult result = with_retry(pass);
  Runtime* runtime =
      result == CUDA_SUCCESS && !is_capturing(stream, per_thread) ? Runtime::active() : nullptr;
  if (runtime != nullptr) {
    runtime->with_other_memory([&](OtherMemory& other, int ordinal) {
      other.allocated(tferry::trace::AllocationApi::kPool, *address, bytes, ordinal);
    });
  }
  return result;
}

template <class Pass>
CUresult release(CUdeviceptr address, const CUstream* stream, bool per_thread, Pass pass) {
  Runtime* runtime = Runtime::active();
  const ThreadOperation scope;
  if (runtime == nullptr || scope.get() == nullptr) return pass();
  const auto result = runtime->free(address, stream, per_thread);
  if (result) return *result;
  runtime->with_other_memory([address](OtherMemory& other, int) { other.freed(address); });
  return pass();
}

}  // namespace

TFERRY_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate(address, bytes, false, [&] { return call(real().cuMemAlloc_v2, address, bytes); });
}

TFERRY_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                          std::size_t height, unsigned element) {
  constexpr std::size_t kPitch = 512;  // what the driver aligns rows to on every architecture that we meet
  const auto pass = [&] { return call(real().cuMemAllocPitch_v2, address, pitch, width, height, element); };
  const bool valid = pitch != nullptr && width > 0 && height > 0 &&
                     (element == 4 || element == 8 || element == 16) && width <= (std::size_t{1} << 40) &&
                     height <= (std::size_t{1} << 20);
  if (!valid) return pass();
  const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
  bool passed = false;
  const CUresult result = allocate(address, row * height, false, [&] {
    passed = true;
    return pass();
  });
  if (result == CUDA_SUCCESS && !passed) *pitch = row;
  return result;
}

TFERRY_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return release(address, nullptr, false, [&] { return call(real().cuMemFree_v2, address); });
}

TFERRY_EXPORT CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate_ordered(address, bytes, stream, false,
                          [&] { return call(real().cuMemAllocAsync, address, bytes, stream); });
}

TFERRY_EXPORT CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate_ordered(address, bytes, stream, true,
                          [&] { return call(real().cuMemAllocAsync_ptsz, address, bytes, stream); });
}

TFERRY_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                               CUstream stream) {
  return allocate_from_pool(address, bytes, pool, stream, false, [&] {
    return call(real().cuMemAllocFromPoolAsync, address, bytes, pool, stream);
  });
}

TFERRY_EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, std::size_t bytes,
                                                    CUmemoryPool pool, CUstream stream) {
  return allocate_from_pool(address, bytes, pool, stream, true, [&] {
    return call(real().cuMemAllocFromPoolAsync_ptsz, address, bytes, pool, stream);
  });
}

TFERRY_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return release(address, &stream, false, [&] { return call(real().cuMemFreeAsync, address, stream); });
}

TFERRY_EXPORT CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return release(address, &stream, true, [&] { return call(real().cuMemFreeAsync_ptsz, address, stream); });
}

TFERRY_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                                   const CUmemAllocationProp* properties, unsigned long long flags) {
  return with_retry([&] { return call(real().cuMemCreate, handle, bytes, properties, flags); });
}

TFERRY_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const CUresult result = call(real().cuMemGetInfo_v2, free, total);
  // The real card, as without us: what we hold but the program does not use is as good as free.
  if (Runtime* runtime = Runtime::active(); runtime != nullptr && result == CUDA_SUCCESS && free != nullptr) {
    *free += runtime->idle_bytes();
  }
  return result;
}

TFERRY_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  Runtime* runtime = Runtime::active();
  std::uint64_t current = 0;
  std::uint64_t high = 0;
  if (runtime != nullptr && value != nullptr && runtime->pool_statistics(pool, current, high)) {
    switch (attribute) {
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *static_cast<cuuint64_t*>(value) = current;
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *static_cast<cuuint64_t*>(value) = high;
        return CUDA_SUCCESS;
      default:
        break;
    }
  }
  return call(real().cuMemPoolGetAttribute, pool, attribute, value);
}

namespace tferry::runtime {

std::span<const cuda::Hook> memory_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuMemAlloc_v2),        TFERRY_HOOK(cuMemAllocPitch_v2),
      TFERRY_HOOK(cuMemFree_v2),         TFERRY_HOOK(cuMemAllocAsync),
      TFERRY_HOOK(cuMemAllocAsync_ptsz), TFERRY_HOOK(cuMemAllocFromPoolAsync),
      TFERRY_HOOK(cuMemFreeAsync),       TFERRY_HOOK(cuMemAllocFromPoolAsync_ptsz),
      TFERRY_HOOK(cuMemFreeAsync_ptsz),  TFERRY_HOOK(cuMemCreate),
      TFERRY_HOOK(cuMemGetInfo_v2),      TFERRY_HOOK(cuMemPoolGetAttribute),
  };
  return hooks;
}

}  // namespace tferry::runtime
