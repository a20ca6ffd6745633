#pragma once

#include <cuda.h>

namespace tferry::samples {

/// The driver entry points that the sample uses, in the versions that cuda.h declares.
// clang-format off
#define TFERRY_SAMPLE_DRIVER_FUNCTIONS(X)                                                            \
  X(cuInit) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGet) X(cuDevicePrimaryCtxRetain)         \
  X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuModuleLoadData) X(cuModuleGetFunction)                  \
  X(cuLaunchKernel) X(cuStreamCreate) X(cuStreamSynchronize) X(cuStreamWaitEvent)                    \
  X(cuEventCreate) X(cuEventRecord) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocAsync)                    \
  X(cuMemFreeAsync) X(cuMemHostAlloc) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyHtoDAsync)           \
  X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)
// clang-format on

struct DriverFunctions {
  void* library = nullptr;  ///< libcuda.so.1, as dlopen gave it; never closed
#define TFERRY_DECLARE(name) decltype(&::name) name = nullptr;
  TFERRY_SAMPLE_DRIVER_FUNCTIONS(TFERRY_DECLARE)
#undef TFERRY_DECLARE
};

/// Opens libcuda.so.1 and asks cuGetProcAddress for every function. std::runtime_error names what is missing.
DriverFunctions load_driver();

}  // namespace tferry::samples
