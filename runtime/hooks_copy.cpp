// Copies: both ends are brought in like a launch's arguments. Small host sources are looked through for
// addresses: that is how pointer tables reach the device.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"
#include "trace/flat_plan.hpp"

#include <string_view>

using namespace tferry::runtime;
using tferry::trace::AccessKind;
using tferry::trace::CopyKind;
using tferry::trace::OperationSignature;

namespace {

struct HostWords {
  const void* source = nullptr;
  std::size_t bytes = 0;
};

struct Ends {
  CUdeviceptr destination = 0;
  CUdeviceptr source = 0;
  CopyKind kind = CopyKind::kUnknown;
};

template <class Call>
CUresult copy(CUstream stream, bool per_thread, bool asynchronous, const Ends& ends, std::size_t bytes,
              HostWords words, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        const auto size = static_cast<std::int64_t>(bytes);
        operation.signature = OperationSignature::copy(size);
        operation.details.kind = OperationDetails::Kind::kCopy;
        operation.details.destination = ends.destination;
        operation.details.source = ends.source;
        operation.details.bytes = size;
        operation.details.copy = ends.kind;
        operation.details.asynchronous = asynchronous;
        runtime.name(operation, ends.destination, AccessKind::kWrite, size);
        runtime.name(operation, ends.source, AccessKind::kRead, size);
        runtime.scan_host_words(operation, words.source, words.bytes);
      },
      pass);
}

/// Device addresses of a strided copy. An end that is an array or host memory names none; a unified one may.
template <class Description>
CUdeviceptr source_of(const Description& copy) {
  return copy.srcMemoryType == CU_MEMORYTYPE_DEVICE || copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED
             ? copy.srcDevice
             : 0;
}
template <class Description>
CUdeviceptr destination_of(const Description& copy) {
  return copy.dstMemoryType == CU_MEMORYTYPE_DEVICE || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED
             ? copy.dstDevice
             : 0;
}

std::size_t volume_of(const CUDA_MEMCPY2D& copy) { return copy.WidthInBytes * copy.Height; }
template <class Description>
std::size_t volume_of(const Description& copy) {
  return copy.WidthInBytes * copy.Height * copy.Depth;
}

CUdeviceptr as_device(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
const void* as_host(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

/// A unified copy's source is read only if it is host memory; a device address must not be touched by the
/// CPU.
HostWords unified_words(CUdeviceptr source, std::size_t bytes) {
  unsigned type = 0;
  if (bytes > (std::size_t{1} << 20) || bytes < sizeof(std::uint64_t)) return {};
  const CUresult known = real().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, source);
  if (known == CUDA_SUCCESS && type != CU_MEMORYTYPE_HOST) return {};
  return {as_host(source), bytes};
}

}  // namespace

// NAME and its variant with the per-thread default stream; STREAM is the argument, or null for synchronous
// calls.
#define TFERRY_COPY(NAME, SUFFIX, PARAMETERS, STREAM, ENDS, BYTES, WORDS, ...)           \
  TFERRY_EXPORT CUresult NAME PARAMETERS {                                               \
    return copy(STREAM, false, std::string_view(#SUFFIX) == "_ptsz", ENDS, BYTES, WORDS, \
                [&] { return call(real().NAME, __VA_ARGS__); });                         \
  }                                                                                      \
  TFERRY_EXPORT CUresult NAME##SUFFIX PARAMETERS {                                       \
    return copy(STREAM, true, std::string_view(#SUFFIX) == "_ptsz", ENDS, BYTES, WORDS,  \
                [&] { return call(real().NAME##SUFFIX, __VA_ARGS__); });                 \
  }
#define TFERRY_ENDS(DST, SRC, KIND) (Ends{DST, SRC, CopyKind::KIND})

TFERRY_COPY(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, std::size_t bytes), nullptr,
            TFERRY_ENDS(dst, src, kUnknown), bytes, unified_words(src, bytes), dst, src, bytes)
TFERRY_COPY(cuMemcpyAsync, _ptsz, (CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream),
            stream, TFERRY_ENDS(dst, src, kUnknown), bytes, unified_words(src, bytes), dst, src, bytes,
            stream)
TFERRY_COPY(cuMemcpyPeer, _ptds,
            (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, std::size_t bytes), nullptr,
            TFERRY_ENDS(dst, src, kPeer), bytes, HostWords{}, dst, to, src, from, bytes)
TFERRY_COPY(cuMemcpyPeerAsync, _ptsz,
            (CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, std::size_t bytes,
             CUstream stream),
            stream, TFERRY_ENDS(dst, src, kPeer), bytes, HostWords{}, dst, to, src, from, bytes, stream)
TFERRY_COPY(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void* src, std::size_t bytes), nullptr,
            TFERRY_ENDS(dst, as_device(src), kHostToDevice), bytes, (HostWords{src, bytes}), dst, src, bytes)
TFERRY_COPY(cuMemcpyHtoDAsync_v2, _ptsz,
            (CUdeviceptr dst, const void* src, std::size_t bytes, CUstream stream), stream,
            TFERRY_ENDS(dst, as_device(src), kHostToDevice), bytes, (HostWords{src, bytes}), dst, src, bytes,
            stream)
TFERRY_COPY(cuMemcpyDtoH_v2, _ptds, (void* dst, CUdeviceptr src, std::size_t bytes), nullptr,
            TFERRY_ENDS(as_device(dst), src, kDeviceToHost), bytes, HostWords{}, dst, src, bytes)
TFERRY_COPY(cuMemcpyDtoHAsync_v2, _ptsz, (void* dst, CUdeviceptr src, std::size_t bytes, CUstream stream),
            stream, TFERRY_ENDS(as_device(dst), src, kDeviceToHost), bytes, HostWords{}, dst, src, bytes,
            stream)
TFERRY_COPY(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, std::size_t bytes), nullptr,
            TFERRY_ENDS(dst, src, kDeviceToDevice), bytes, HostWords{}, dst, src, bytes)
TFERRY_COPY(cuMemcpyDtoDAsync_v2, _ptsz,
            (CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream), stream,
            TFERRY_ENDS(dst, src, kDeviceToDevice), bytes, HostWords{}, dst, src, bytes, stream)
TFERRY_COPY(cuMemcpyDtoA_v2, _ptds, (CUarray dst, std::size_t offset, CUdeviceptr src, std::size_t bytes),
            nullptr, TFERRY_ENDS(0, src, kDeviceToDevice), bytes, HostWords{}, dst, offset, src, bytes)
TFERRY_COPY(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr dst, CUarray src, std::size_t offset, std::size_t bytes),
            nullptr, TFERRY_ENDS(dst, 0, kDeviceToDevice), bytes, HostWords{}, dst, src, offset, bytes)

#define TFERRY_STRIDED(NAME, SUFFIX, TYPE)                                                  \
  TFERRY_COPY(NAME, SUFFIX, (const TYPE* description), nullptr,                             \
              TFERRY_ENDS(destination_of(*description), source_of(*description), kUnknown), \
              volume_of(*description), HostWords{}, description)
#define TFERRY_STRIDED_ASYNC(NAME, SUFFIX, TYPE)                                            \
  TFERRY_COPY(NAME, SUFFIX, (const TYPE* description, CUstream stream), stream,             \
              TFERRY_ENDS(destination_of(*description), source_of(*description), kUnknown), \
              volume_of(*description), HostWords{}, description, stream)
TFERRY_STRIDED(cuMemcpy2D_v2, _ptds, CUDA_MEMCPY2D)
TFERRY_STRIDED(cuMemcpy2DUnaligned_v2, _ptds, CUDA_MEMCPY2D)
TFERRY_STRIDED_ASYNC(cuMemcpy2DAsync_v2, _ptsz, CUDA_MEMCPY2D)
TFERRY_STRIDED(cuMemcpy3D_v2, _ptds, CUDA_MEMCPY3D)
TFERRY_STRIDED_ASYNC(cuMemcpy3DAsync_v2, _ptsz, CUDA_MEMCPY3D)
TFERRY_STRIDED(cuMemcpy3DPeer, _ptds, CUDA_MEMCPY3D_PEER)
TFERRY_STRIDED_ASYNC(cuMemcpy3DPeerAsync, _ptsz, CUDA_MEMCPY3D_PEER)

namespace {

template <class Call>
CUresult copy_batch(const CUdeviceptr* dsts, const CUdeviceptr* srcs, std::size_t count, CUstream stream,
                    bool per_thread, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        operation.signature = OperationSignature::copy(0);  // as it is recorded
        operation.details.kind = OperationDetails::Kind::kCopy;
        operation.details.asynchronous = true;
        for (std::size_t i = 0; i < count && dsts != nullptr && srcs != nullptr; ++i) {
          runtime.name(operation, dsts[i]);
          runtime.name(operation, srcs[i]);
        }
      },
      pass);
}

CUdeviceptr operand(const CUmemcpy3DOperand& end) {
  return end.type == CU_MEMCPY_OPERAND_TYPE_POINTER ? end.op.ptr.ptr : 0;
}

template <class Call>
CUresult copy_batch_3d(std::size_t count, const CUDA_MEMCPY3D_BATCH_OP* list, CUstream stream,
                       bool per_thread, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        operation.signature = OperationSignature::copy(0);  // as it is recorded
        operation.details.kind = OperationDetails::Kind::kCopy;
        operation.details.asynchronous = true;
        for (std::size_t i = 0; i < count && list != nullptr; ++i) {
          runtime.name(operation, operand(list[i].dst));
          runtime.name(operation, operand(list[i].src));
        }
      },
      pass);
}

}  // namespace

#define TFERRY_BATCH(NAME, PER_THREAD)                                                                     \
  TFERRY_EXPORT CUresult NAME(CUdeviceptr* dsts, CUdeviceptr* srcs, std::size_t* sizes, std::size_t count, \
                              CUmemcpyAttributes* attributes, std::size_t* indices,                        \
                              std::size_t attribute_count, CUstream stream) {                              \
    return copy_batch(dsts, srcs, count, stream, PER_THREAD, [&] {                                         \
      return call(real().NAME, dsts, srcs, sizes, count, attributes, indices, attribute_count, stream);    \
    });                                                                                                    \
  }
TFERRY_BATCH(cuMemcpyBatchAsync_v2, false)
TFERRY_BATCH(cuMemcpyBatchAsync_v2_ptsz, true)

#define TFERRY_BATCH_3D(NAME, PER_THREAD)                                                                \
  TFERRY_EXPORT CUresult NAME(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags, \
                              CUstream stream) {                                                         \
    return copy_batch_3d(count, list, stream, PER_THREAD,                                                \
                         [&] { return call(real().NAME, count, list, flags, stream); });                 \
  }
TFERRY_BATCH_3D(cuMemcpy3DBatchAsync_v2, false)
TFERRY_BATCH_3D(cuMemcpy3DBatchAsync_v2_ptsz, true)

#define TFERRY_PAIR(NAME, SUFFIX) TFERRY_HOOK(NAME), TFERRY_HOOK(NAME##SUFFIX)

namespace tferry::runtime {

std::span<const cuda::Hook> copy_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_PAIR(cuMemcpy, _ptds),
      TFERRY_PAIR(cuMemcpyAsync, _ptsz),
      TFERRY_PAIR(cuMemcpyPeer, _ptds),
      TFERRY_PAIR(cuMemcpyPeerAsync, _ptsz),
      TFERRY_PAIR(cuMemcpyHtoD_v2, _ptds),
      TFERRY_PAIR(cuMemcpyHtoDAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpyDtoH_v2, _ptds),
      TFERRY_PAIR(cuMemcpyDtoHAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpyDtoD_v2, _ptds),
      TFERRY_PAIR(cuMemcpyDtoDAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpyDtoA_v2, _ptds),
      TFERRY_PAIR(cuMemcpyAtoD_v2, _ptds),
      TFERRY_PAIR(cuMemcpy2D_v2, _ptds),
      TFERRY_PAIR(cuMemcpy2DUnaligned_v2, _ptds),
      TFERRY_PAIR(cuMemcpy2DAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpy3D_v2, _ptds),
      TFERRY_PAIR(cuMemcpy3DAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpy3DPeer, _ptds),
      TFERRY_PAIR(cuMemcpy3DPeerAsync, _ptsz),
      TFERRY_PAIR(cuMemcpyBatchAsync_v2, _ptsz),
      TFERRY_PAIR(cuMemcpy3DBatchAsync_v2, _ptsz),
  };
  return hooks;
}

}  // namespace tferry::runtime
