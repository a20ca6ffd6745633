// Memory that stays the driver's: the calls are passed on, and where the job is recorded, noted.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

#include <algorithm>

using namespace tferry::runtime;
using tferry::trace::AllocationApi;

namespace {

/// Passes a call on, and what it made.
template <class Pass, class Note>
CUresult make(Pass pass, Note note) {
  const ThreadOperation scope;
  const CUresult result = with_retry(pass);
  Runtime* runtime = result == CUDA_SUCCESS && scope.get() != nullptr ? Runtime::active() : nullptr;
  if (runtime != nullptr) runtime->with_other_memory(note);
  return result;
}

/// Notes first: another thread may be given the same address before this one comes back.
template <class Note, class Pass>
CUresult release(Note note, Pass pass) {
  const ThreadOperation scope;
  Runtime* runtime = scope.get() != nullptr ? Runtime::active() : nullptr;
  if (runtime != nullptr) runtime->with_other_memory(note);
  return pass();
}

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

std::size_t element_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;  // compressed blocks and planes: their size is the driver's affair
  }
}

template <class Descriptor>
std::size_t array_bytes(const Descriptor& array, std::size_t depth) {
  const std::size_t rows = std::max<std::size_t>(array.Height, 1) * std::max<std::size_t>(depth, 1);
  return array.Width * rows * array.NumChannels * element_bytes(array.Format);
}

}  // namespace

TFERRY_EXPORT CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return make([&] { return call(real().cuMemAllocManaged, address, bytes, flags); },
              [&](OtherMemory& other, int device) {
                other.allocated(AllocationApi::kManaged, *address, bytes, device);
              });
}

TFERRY_EXPORT CUresult cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return make([&] { return call(real().cuMemHostAlloc, memory, bytes, flags); },
              [&](OtherMemory& other, int) {
                other.allocated(AllocationApi::kHost, address_of(*memory), bytes, -1);
              });
}

TFERRY_EXPORT CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  return make([&] { return call(real().cuMemAllocHost_v2, memory, bytes); },
              [&](OtherMemory& other, int) {
                other.allocated(AllocationApi::kHost, address_of(*memory), bytes, -1);
              });
}

TFERRY_EXPORT CUresult cuMemFreeHost(void* memory) {
  return release([&](OtherMemory& other, int) { other.freed(address_of(memory)); },
                 [&] { return call(real().cuMemFreeHost, memory); });
}

TFERRY_EXPORT CUresult cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  return make([&] { return call(real().cuMemHostRegister_v2, memory, bytes, flags); },
              [&](OtherMemory& other, int) {
                other.allocated(AllocationApi::kHostRegister, address_of(memory), bytes, -1);
              });
}

TFERRY_EXPORT CUresult cuMemHostUnregister(void* memory) {
  return release([&](OtherMemory& other, int) { other.freed(address_of(memory)); },
                 [&] { return call(real().cuMemHostUnregister, memory); });
}

TFERRY_EXPORT CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                                CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return make([&] { return call(real().cuMemMap, address, bytes, offset, handle, flags); },
              [&](OtherMemory& other, int device) {
                other.allocated(AllocationApi::kVirtual, address, bytes, device);
              });
}

TFERRY_EXPORT CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return release([&](OtherMemory& other, int) { other.unmapped(address, bytes); },
                 [&] { return call(real().cuMemUnmap, address, bytes); });
}

TFERRY_EXPORT CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  return make(
      [&] { return call(real().cuArrayCreate_v2, array, descriptor); },
      [&](OtherMemory& other, int device) { other.array_made(*array, array_bytes(*descriptor, 1), device); });
}

TFERRY_EXPORT CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return make([&] { return call(real().cuArray3DCreate_v2, array, descriptor); },
              [&](OtherMemory& other, int device) {
                other.array_made(*array, array_bytes(*descriptor, descriptor->Depth), device);
              });
}

TFERRY_EXPORT CUresult cuArrayDestroy(CUarray array) {
  return release([&](OtherMemory& other, int) { other.array_destroyed(array); },
                 [&] { return call(real().cuArrayDestroy, array); });
}

namespace tferry::runtime {

std::span<const cuda::Hook> other_memory_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuMemAllocManaged),  TFERRY_HOOK(cuMemHostAlloc),       TFERRY_HOOK(cuMemAllocHost_v2),
      TFERRY_HOOK(cuMemFreeHost),      TFERRY_HOOK(cuMemHostRegister_v2), TFERRY_HOOK(cuMemHostUnregister),
      TFERRY_HOOK(cuMemMap),           TFERRY_HOOK(cuMemUnmap),           TFERRY_HOOK(cuArrayCreate_v2),
      TFERRY_HOOK(cuArray3DCreate_v2), TFERRY_HOOK(cuArrayDestroy),
  };
  return hooks;
}

}  // namespace tferry::runtime
