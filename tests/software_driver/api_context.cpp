#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/pages.hpp"

#include <utility>

namespace tferry::software_driver {
namespace {

std::shared_ptr<Context> make_context(Device& device, unsigned flags) {
  auto context = std::make_shared<Context>(device, flags);
  context->handle = driver().contexts.insert(context);
  tell_context_created(context->handle, device.ordinal);
  return context;
}

void create_context(CUcontext* out, unsigned flags, CUdevice device) {
  checked(out) = make_context(driver().device(device), flags)->handle;
  context_stack().push_back(*out);
}

/// Ends the primary context, if there is one; primary_mutex is held.
void end_primary(Device& device) {
  if (const auto context = std::exchange(device.primary, nullptr)) driver().destroy_context(context);
}

CUcontext current_or_null() { return context_stack().empty() ? nullptr : context_stack().back(); }

std::shared_ptr<Context> given_or_current(CUcontext handle) {
  return handle ? driver().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT) : current_context();
}

void synchronize(const std::shared_ptr<Context>& context) {
  context->synchronize();
  const CUresult error = context->error();
  require(error == CUDA_SUCCESS, error);
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice ordinal)) {
  return call(EntryPoint::cuDevicePrimaryCtxRetain, [&] {
    Device& device = driver().device(ordinal);
    CUcontext& handle = checked(out);
    const std::lock_guard lock(device.primary_mutex);
    if (!device.primary) device.primary = make_context(device, device.primary_flags);
    ++device.primary_references;
    handle = device.primary->handle;
  });
}

SWD_API(cuDevicePrimaryCtxRelease_v2, (CUdevice ordinal)) {
  return call(EntryPoint::cuDevicePrimaryCtxRelease_v2, [&] {
    Device& device = driver().device(ordinal);
    const std::lock_guard lock(device.primary_mutex);
    require(device.primary_references > 0, CUDA_ERROR_INVALID_CONTEXT);
    if (--device.primary_references == 0) end_primary(device);
  });
}

SWD_API(cuDevicePrimaryCtxReset_v2, (CUdevice ordinal)) {
  return call(EntryPoint::cuDevicePrimaryCtxReset_v2, [&] {
    Device& device = driver().device(ordinal);
    const std::lock_guard lock(device.primary_mutex);
    device.primary_references = 0;
    end_primary(device);
  });
}

SWD_API(cuDevicePrimaryCtxGetState, (CUdevice ordinal, unsigned* flags, int* active)) {
  return call(EntryPoint::cuDevicePrimaryCtxGetState, [&] {
    Device& device = driver().device(ordinal);
    const std::lock_guard lock(device.primary_mutex);
    checked(flags) = device.primary ? device.primary->flags.load() : device.primary_flags;
    checked(active) = device.primary != nullptr;
  });
}

SWD_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice ordinal, unsigned flags)) {
  return call(EntryPoint::cuDevicePrimaryCtxSetFlags_v2, [&] {
    Device& device = driver().device(ordinal);
    const std::lock_guard lock(device.primary_mutex);
    device.primary_flags = flags;
    if (device.primary) device.primary->flags = flags;
  });
}

SWD_API(cuCtxCreate_v2, (CUcontext * out, unsigned flags, CUdevice device)) {
  return call(EntryPoint::cuCtxCreate_v2, [&] { create_context(out, flags, device); });
}

SWD_API(cuCtxCreate_v4, (CUcontext * out, CUctxCreateParams*, unsigned flags, CUdevice device)) {
  return call(EntryPoint::cuCtxCreate_v4, [&] { create_context(out, flags, device); });
}

SWD_API(cuCtxDestroy_v2, (CUcontext handle)) {
  return call(EntryPoint::cuCtxDestroy_v2, [&] {
    const auto context = driver().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
    {
      const std::lock_guard lock(context->device().primary_mutex);
      require(context != context->device().primary, CUDA_ERROR_INVALID_CONTEXT);
    }
    driver().destroy_context(context);
    if (current_or_null() == handle) context_stack().pop_back();
  });
}

SWD_API(cuCtxPushCurrent_v2, (CUcontext handle)) {
  return call(EntryPoint::cuCtxPushCurrent_v2, [&] {
    driver().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
    context_stack().push_back(handle);
  });
}

SWD_API(cuCtxPopCurrent_v2, (CUcontext * out)) {
  return call(EntryPoint::cuCtxPopCurrent_v2, [&] {
    require(!context_stack().empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (out) *out = context_stack().back();
    context_stack().pop_back();
  });
}

SWD_API(cuCtxSetCurrent, (CUcontext handle)) {
  return call(EntryPoint::cuCtxSetCurrent, [&] {
    if (handle) driver().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
    if (!context_stack().empty()) context_stack().pop_back();
    if (handle) context_stack().push_back(handle);
  });
}

SWD_API(cuCtxGetCurrent, (CUcontext * out)) {
  return call(EntryPoint::cuCtxGetCurrent, [&] { checked(out) = current_or_null(); });
}

SWD_API(cuCtxGetDevice, (CUdevice * out)) {
  return call(EntryPoint::cuCtxGetDevice, [&] { checked(out) = current_context()->device().ordinal; });
}

SWD_API(cuCtxGetDevice_v2, (CUdevice * out, CUcontext handle)) {
  return call(EntryPoint::cuCtxGetDevice_v2,
              [&] { checked(out) = given_or_current(handle)->device().ordinal; });
}

SWD_API(cuCtxGetFlags, (unsigned* flags)) {
  return call(EntryPoint::cuCtxGetFlags, [&] { checked(flags) = current_context()->flags; });
}

SWD_API(cuCtxSetFlags, (unsigned flags)) {
  return call(EntryPoint::cuCtxSetFlags, [&] { current_context()->flags = flags; });
}

SWD_API(cuCtxGetId, (CUcontext handle, unsigned long long* id)) {
  return call(EntryPoint::cuCtxGetId, [&] { checked(id) = given_or_current(handle)->id(); });
}

SWD_API(cuCtxGetApiVersion, (CUcontext handle, unsigned* version)) {
  return call(EntryPoint::cuCtxGetApiVersion, [&] {
    given_or_current(handle);
    checked(version) = 3020;
  });
}

SWD_API(cuCtxSynchronize, ()) {
  return call(EntryPoint::cuCtxSynchronize, [] { synchronize(current_context()); });
}

SWD_API(cuCtxSynchronize_v2, (CUcontext handle)) {
  return call(EntryPoint::cuCtxSynchronize_v2, [&] { synchronize(given_or_current(handle)); });
}

SWD_API(cuCtxSetLimit, (CUlimit limit, std::size_t value)) {
  return call(EntryPoint::cuCtxSetLimit, [&] { current_context()->set_limit(limit, value); });
}

SWD_API(cuCtxGetLimit, (std::size_t* value, CUlimit limit)) {
  return call(EntryPoint::cuCtxGetLimit, [&] { checked(value) = current_context()->limit(limit); });
}

SWD_API(cuCtxGetCacheConfig, (CUfunc_cache * config)) {
  return call(EntryPoint::cuCtxGetCacheConfig, [&] { checked(config) = CU_FUNC_CACHE_PREFER_NONE; });
}

SWD_API(cuCtxSetCacheConfig, (CUfunc_cache)) {
  return call(EntryPoint::cuCtxSetCacheConfig, [] {});
}

SWD_API(cuCtxGetStreamPriorityRange, (int* least, int* greatest)) {
  return call(EntryPoint::cuCtxGetStreamPriorityRange, [&] {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}

SWD_API(cuCtxEnablePeerAccess, (CUcontext peer, unsigned flags)) {
  return call(EntryPoint::cuCtxEnablePeerAccess, [&] {
    require(flags == 0);
    const auto context = current_context();
    const auto other = driver().contexts.get(peer, CUDA_ERROR_INVALID_CONTEXT);
    require(&other->device() != &context->device(), CUDA_ERROR_INVALID_DEVICE);
    require(context->enable_peer(*other), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  });
}

SWD_API(cuCtxDisablePeerAccess, (CUcontext peer)) {
  return call(EntryPoint::cuCtxDisablePeerAccess, [&] {
    const auto other = driver().contexts.get(peer, CUDA_ERROR_INVALID_CONTEXT);
    require(current_context()->disable_peer(*other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  });
}
