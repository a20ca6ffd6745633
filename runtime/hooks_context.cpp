// Contexts: waiting for one means waiting for the program's streams, not for copies of ours that nobody needs
// yet (ALGORITHMS.md, rule 9); the end of one ends the memory that was served in it.
#include "runtime/hooks.hpp"
#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

using namespace tferry::runtime;

namespace {

/// Null means the current one, too.
bool is_current(CUcontext context) {
  CUcontext current = nullptr;
  return context == nullptr || (call(real().cuCtxGetCurrent, &current) == CUDA_SUCCESS && current == context);
}

}  // namespace

TFERRY_EXPORT CUresult cuCtxSynchronize() {
  CUresult result = CUDA_SUCCESS;
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && runtime->wait_for_program(result)) return result;
  return call(real().cuCtxSynchronize);
}

// What cudaDeviceSynchronize of CUDA 13 calls.
TFERRY_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
  CUresult result = CUDA_SUCCESS;
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && is_current(context) && runtime->wait_for_program(result)) return result;
  return call(real().cuCtxSynchronize_v2, context);
}

TFERRY_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  const CUresult result = call(real().cuCtxEnablePeerAccess, peer, flags);
  if (Runtime* runtime = Runtime::active(); runtime != nullptr && result == CUDA_SUCCESS)
    runtime->peer_enabled(peer);
  return result;
}

TFERRY_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  if (Runtime* runtime = Runtime::active()) runtime->context_ended(context);
  return call(real().cuCtxDestroy_v2, context);
}

TFERRY_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (Runtime* runtime = Runtime::active()) runtime->device_reset(device);
  return call(real().cuDevicePrimaryCtxReset_v2, device);
}

TFERRY_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const CUresult result = call(real().cuDevicePrimaryCtxRelease_v2, device);
  unsigned flags = 0;
  int active = 1;
  Runtime* runtime = Runtime::active();
  if (runtime != nullptr && result == CUDA_SUCCESS &&
      call(real().cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && active == 0) {
    runtime->device_reset(device);
  }
  return result;
}

namespace tferry::runtime {

std::span<const cuda::Hook> context_hooks() {
  static const cuda::Hook hooks[] = {
      TFERRY_HOOK(cuCtxSynchronize),           TFERRY_HOOK(cuCtxSynchronize_v2),
      TFERRY_HOOK(cuCtxEnablePeerAccess),      TFERRY_HOOK(cuCtxDestroy_v2),
      TFERRY_HOOK(cuDevicePrimaryCtxReset_v2), TFERRY_HOOK(cuDevicePrimaryCtxRelease_v2),
  };
  return hooks;
}

}  // namespace tferry::runtime
