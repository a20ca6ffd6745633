// What the outside is told about our memory (ALGORITHMS.md, rule 6): it presents itself as device memory of a
// stream-ordered pool, for which libraries have fall-backs, and every answer comes from our books. A parked
// block is still DEVICE: a library that reads HOST would touch it with the CPU.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

using namespace tferry::runtime;
using tferry::trace::ResidentReason;

namespace {

std::optional<AllocationView> ours(CUdeviceptr address) {
  Runtime* runtime = Runtime::active();
  return runtime != nullptr ? runtime->view(address) : std::nullopt;
}

CUresult answer(const AllocationView& view, CUdeviceptr address, CUpointer_attribute attribute, void* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = view.buffer_id;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = view.device;
      break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = view.address;
      break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(value) = view.size;
      break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      *static_cast<int*>(value) = 1;
      break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      *static_cast<unsigned long long*>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      *static_cast<int*>(value) = 0;
      break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      *static_cast<CUmemAccess_flags*>(value) = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return call(real().cuDeviceGetDefaultMemPool, static_cast<CUmemoryPool*>(value), view.device);
    default:
      return call(real().cuPointerGetAttribute, value, attribute, address);
  }
  return CUDA_SUCCESS;
}

/// Memory that others reach by handle can never move again.
void share(CUdeviceptr address) {
  if (Runtime* runtime = Runtime::active()) runtime->hand_over(address, ResidentReason::kShared);
}

}  // namespace

TFERRY_EXPORT CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute,
                                             CUdeviceptr address) {
  if (const auto view = ours(address)) {
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) share(address);
    if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT)
      return call(real().cuCtxGetCurrent, static_cast<CUcontext*>(value));
    return answer(*view, address, attribute, value);
  }
  return call(real().cuPointerGetAttribute, value, attribute, address);
}

TFERRY_EXPORT CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                              CUdeviceptr address) {
  const auto view = ours(address);
  if (!view || attributes == nullptr || values == nullptr) {
    return call(real().cuPointerGetAttributes, count, attributes, values, address);
  }
  for (unsigned i = 0; i < count; ++i) {
    // As the driver does here: what does not apply is answered with zero, not with an error.
    if (cuPointerGetAttribute(values[i], attributes[i], address) != CUDA_SUCCESS &&
        attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER && values[i] != nullptr) {
      *static_cast<void**>(values[i]) = nullptr;
    }
  }
  return CUDA_SUCCESS;
}

TFERRY_EXPORT CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                             CUdeviceptr address) {
  if (ours(address)) share(address);
  return call(real().cuPointerSetAttribute, value, attribute, address);
}

TFERRY_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
  if (const auto view = ours(address)) {
    if (base != nullptr) *base = view->address;
    if (size != nullptr) *size = view->size;
    return CUDA_SUCCESS;
  }
  return call(real().cuMemGetAddressRange_v2, base, size, address);
}

TFERRY_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  // One chunk's handle would be taken for the whole range (nccl#1820); pools give none out either.
  if (ours(reinterpret_cast<CUdeviceptr>(address))) return CUDA_ERROR_INVALID_VALUE;
  return call(real().cuMemRetainAllocationHandle, handle, address);
}

TFERRY_EXPORT CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, std::size_t size,
                                                     CUmemRangeHandleType type, unsigned long long flags) {
  if (ours(address)) share(address);
  return call(real().cuMemGetHandleForAddressRange, handle, address, size, type, flags);
}

TFERRY_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (ours(address)) {
    Runtime::status().say(
        1,
        "tensors under Tensorferry cannot be shared between processes by CUDA IPC handle; share "
        "them through host memory, or run with --allocator native");
    return CUDA_ERROR_INVALID_VALUE;  // as for memory of a pool
  }
  return call(real().cuIpcGetMemHandle, handle, address);
}

namespace tferry::runtime {

std::span<const cuda::Hook> attribute_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuPointerGetAttribute),       TFERRY_HOOK(cuPointerGetAttributes),
      TFERRY_HOOK(cuPointerSetAttribute),       TFERRY_HOOK(cuMemGetAddressRange_v2),
      TFERRY_HOOK(cuMemRetainAllocationHandle), TFERRY_HOOK(cuMemGetHandleForAddressRange),
      TFERRY_HOOK(cuIpcGetMemHandle),
  };
  return hooks;
}

}  // namespace tferry::runtime
