#pragma once

#include "tests/software_driver/error.hpp"

#include <cuda.h>

#include <cstdint>
#include <new>
#include <type_traits>

// Older forms that the driver still exports beside the ones which these names stand for in cuda.h.
#undef cuGetProcAddress
#undef cuEventElapsedTime
#undef cuDeviceGetUuid

namespace tferry::software_driver {

/// All entry points, in the order of entry_points.def.
enum class EntryPoint : unsigned {
#define SWD_ENTRY(exported, name, version, forms, needs, capture) exported,
#include "tests/software_driver/entry_points.def"
#undef SWD_ENTRY
  kCount
};

/// Counts the call and throws what ends it before it begins: an injected fault, a call from inside stream
/// work, a driver that is not initialised, a missing or failed context, a capture that forbids it.
void enter(EntryPoint entry);

/// The frame of every entry point: `body` does the work, throws DriverError to fail, and may return a
/// CUresult.
template <class Body>
CUresult call(EntryPoint entry, Body&& body) noexcept {
  try {
    enter(entry);
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return CUDA_SUCCESS;
    } else {
      return body();
    }
  } catch (const DriverError& error) {
    return error.code();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// How cuGetProcAddress finds functions.
struct EntryInfo {
  const char* exported;  ///< with version suffix
  const char* name;      ///< what programs ask for
  int version;           ///< first CUDA version with this form
  void* plain;
  void* per_thread;  ///< the _ptsz or _ptds form; null when there is none
  bool needs_initialisation;
  bool needs_context;
  bool unsafe_in_capture;
};
const EntryInfo& entry_info(EntryPoint entry);
/// By exported name; kCount when there is none.
EntryPoint find_entry(const char* exported);

}  // namespace tferry::software_driver

#define SWD_EXPORT extern "C" __attribute__((visibility("default")))

/// Defines an entry point: SWD_API(cuInit, (unsigned flags)) { ... }. The body throws DriverError to fail.
#define SWD_API(exported, parameters) SWD_EXPORT CUresult exported parameters

/// Defines an entry point whose last parameter is `CUstream stream`, and its _ptsz form, by a function that
/// does the work: SWD_STREAM_API(cuStreamQuery, (CUstream stream), query(stream)).
#define SWD_STREAM_API(exported, parameters, ...)                                           \
  SWD_API(exported, parameters) {                                                           \
    return ::tferry::software_driver::call(::tferry::software_driver::EntryPoint::exported, \
                                           [&] { __VA_ARGS__; });                           \
  }                                                                                         \
  SWD_API(exported##_ptsz, parameters) {                                                    \
    if (!stream) stream = CU_STREAM_PER_THREAD;                                             \
    return ::tferry::software_driver::call(::tferry::software_driver::EntryPoint::exported, \
                                           [&] { __VA_ARGS__; });                           \
  }

/// Defines an entry point without a stream and its _ptds form; `stream` is the default stream that it uses.
#define SWD_DEFAULT_STREAM_API(exported, parameters, ...)                                   \
  SWD_API(exported, parameters) {                                                           \
    const CUstream stream = CU_STREAM_LEGACY;                                               \
    return ::tferry::software_driver::call(::tferry::software_driver::EntryPoint::exported, \
                                           [&] { __VA_ARGS__; });                           \
  }                                                                                         \
  SWD_API(exported##_ptds, parameters) {                                                    \
    const CUstream stream = CU_STREAM_PER_THREAD;                                           \
    return ::tferry::software_driver::call(::tferry::software_driver::EntryPoint::exported, \
                                           [&] { __VA_ARGS__; });                           \
  }
