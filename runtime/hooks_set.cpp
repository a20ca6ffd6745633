// Memory sets.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"
#include "trace/flat_plan.hpp"

using namespace tferry::runtime;

namespace {

template <class Call>
CUresult set(CUdeviceptr dst, std::size_t count, std::size_t width, std::uint32_t value, CUstream stream,
             bool per_thread, Call pass) {
  return operate(
      stream, per_thread,
      [&](Runtime& runtime, Operation& operation) {
        const auto size = static_cast<std::int64_t>(count * width);
        operation.signature = tferry::trace::OperationSignature::memset(size);
        operation.details.kind = OperationDetails::Kind::kSet;
        operation.details.destination = dst;
        operation.details.bytes = size;
        operation.details.value = value;
        runtime.name(operation, dst, tferry::trace::AccessKind::kWrite, size);
      },
      pass);
}

}  // namespace

#define TFERRY_SET(NAME, SUFFIX, TYPE)                                                  \
  TFERRY_EXPORT CUresult NAME(CUdeviceptr dst, TYPE value, std::size_t count) {         \
    return set(dst, count, sizeof(TYPE), value, nullptr, false,                         \
               [&] { return call(real().NAME, dst, value, count); });                   \
  }                                                                                     \
  TFERRY_EXPORT CUresult NAME##SUFFIX(CUdeviceptr dst, TYPE value, std::size_t count) { \
    return set(dst, count, sizeof(TYPE), value, nullptr, true,                          \
               [&] { return call(real().NAME##SUFFIX, dst, value, count); });           \
  }
#define TFERRY_SET_ASYNC(NAME, TYPE)                                                                    \
  TFERRY_EXPORT CUresult NAME(CUdeviceptr dst, TYPE value, std::size_t count, CUstream stream) {        \
    return set(dst, count, sizeof(TYPE), value, stream, false,                                          \
               [&] { return call(real().NAME, dst, value, count, stream); });                           \
  }                                                                                                     \
  TFERRY_EXPORT CUresult NAME##_ptsz(CUdeviceptr dst, TYPE value, std::size_t count, CUstream stream) { \
    return set(dst, count, sizeof(TYPE), value, stream, true,                                           \
               [&] { return call(real().NAME##_ptsz, dst, value, count, stream); });                    \
  }
#define TFERRY_SET_2D(NAME, SUFFIX, TYPE)                                                                \
  TFERRY_EXPORT CUresult NAME(CUdeviceptr dst, std::size_t pitch, TYPE value, std::size_t width,         \
                              std::size_t height) {                                                      \
    return set(dst, width * height, sizeof(TYPE), value, nullptr, false,                                 \
               [&] { return call(real().NAME, dst, pitch, value, width, height); });                     \
  }                                                                                                      \
  TFERRY_EXPORT CUresult NAME##SUFFIX(CUdeviceptr dst, std::size_t pitch, TYPE value, std::size_t width, \
                                      std::size_t height) {                                              \
    return set(dst, width * height, sizeof(TYPE), value, nullptr, true,                                  \
               [&] { return call(real().NAME##SUFFIX, dst, pitch, value, width, height); });             \
  }
#define TFERRY_SET_2D_ASYNC(NAME, TYPE)                                                                 \
  TFERRY_EXPORT CUresult NAME(CUdeviceptr dst, std::size_t pitch, TYPE value, std::size_t width,        \
                              std::size_t height, CUstream stream) {                                    \
    return set(dst, width * height, sizeof(TYPE), value, stream, false,                                 \
               [&] { return call(real().NAME, dst, pitch, value, width, height, stream); });            \
  }                                                                                                     \
  TFERRY_EXPORT CUresult NAME##_ptsz(CUdeviceptr dst, std::size_t pitch, TYPE value, std::size_t width, \
                                     std::size_t height, CUstream stream) {                             \
    return set(dst, width * height, sizeof(TYPE), value, stream, true,                                  \
               [&] { return call(real().NAME##_ptsz, dst, pitch, value, width, height, stream); });     \
  }

TFERRY_SET(cuMemsetD8_v2, _ptds, unsigned char)
TFERRY_SET(cuMemsetD16_v2, _ptds, unsigned short)
TFERRY_SET(cuMemsetD32_v2, _ptds, unsigned)
TFERRY_SET_2D(cuMemsetD2D8_v2, _ptds, unsigned char)
TFERRY_SET_2D(cuMemsetD2D16_v2, _ptds, unsigned short)
TFERRY_SET_2D(cuMemsetD2D32_v2, _ptds, unsigned)
TFERRY_SET_ASYNC(cuMemsetD8Async, unsigned char)
TFERRY_SET_ASYNC(cuMemsetD16Async, unsigned short)
TFERRY_SET_ASYNC(cuMemsetD32Async, unsigned)
TFERRY_SET_2D_ASYNC(cuMemsetD2D8Async, unsigned char)
TFERRY_SET_2D_ASYNC(cuMemsetD2D16Async, unsigned short)
TFERRY_SET_2D_ASYNC(cuMemsetD2D32Async, unsigned)

#define TFERRY_PAIR(NAME, SUFFIX) TFERRY_HOOK(NAME), TFERRY_HOOK(NAME##SUFFIX)

namespace tferry::runtime {

std::span<const cuda::Hook> set_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_PAIR(cuMemsetD8_v2, _ptds),      TFERRY_PAIR(cuMemsetD16_v2, _ptds),
      TFERRY_PAIR(cuMemsetD32_v2, _ptds),     TFERRY_PAIR(cuMemsetD2D8_v2, _ptds),
      TFERRY_PAIR(cuMemsetD2D16_v2, _ptds),   TFERRY_PAIR(cuMemsetD2D32_v2, _ptds),
      TFERRY_PAIR(cuMemsetD8Async, _ptsz),    TFERRY_PAIR(cuMemsetD16Async, _ptsz),
      TFERRY_PAIR(cuMemsetD32Async, _ptsz),   TFERRY_PAIR(cuMemsetD2D8Async, _ptsz),
      TFERRY_PAIR(cuMemsetD2D16Async, _ptsz), TFERRY_PAIR(cuMemsetD2D32Async, _ptsz),
  };
  return hooks;
}

}  // namespace tferry::runtime
