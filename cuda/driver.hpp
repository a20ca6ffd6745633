#pragma once

#include <cuda.h>

namespace tferry::cuda {

/// The real driver's entry points, resolved at run time so that nothing of ours is linked to libcuda (a
/// program so linked cannot start where there is no driver). A pointer is null when this driver does not have
/// the call.
struct Driver {
#define TFERRY_CALL(name) decltype(&::name) name = nullptr;
#define TFERRY_VARIANT(name, like) decltype(&::like) name = nullptr;
#include "cuda/driver_calls.def"
#undef TFERRY_CALL
#undef TFERRY_VARIANT

  /// Fills a table from the open library `handle`; `lookup` is the C library's own dlsym.
  static Driver from_library(void* handle, void* (*lookup)(void*, const char*));
};

/// The driver that the process uses: libcuda.so.1 (or TFERRY_DRIVER), opened at the first call. Null when
/// there is none. Any thread; after the first success it costs one load.
const Driver* driver();

/// True when libcuda.so.1 is among the loaded objects; loads nothing.
bool driver_is_loaded();

/// The driver's own name of a result ("CUDA_ERROR_OUT_OF_MEMORY"), or its number in words.
const char* error_name(const Driver& driver, CUresult result);

}  // namespace tferry::cuda
