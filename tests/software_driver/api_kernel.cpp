#include "tests/software_driver/driver.hpp"
#include "tests/software_driver/entry.hpp"
#include "tests/software_driver/memory_operations.hpp"

#include <algorithm>
#include <utility>

namespace tferry::software_driver {
namespace {

std::shared_ptr<Module> load_module(CUcontext context) {
  auto module = std::make_shared<Module>();
  module->context = context;
  const auto here = context ? current_context() : nullptr;
  for (const auto& [name, size] : driver().registry.globals()) {
    if (!here) break;
    auto range = heap_range(here->device(), std::max<std::size_t>(size, 1));
    auto allocation = std::make_shared<Allocation>();
    allocation->base = range->base;
    allocation->size = size;
    allocation->device = here->device().ordinal;
    allocation->context = context;
    allocation->storage = std::move(range);
    driver().allocations.insert(allocation);
    module->globals.emplace(name, std::move(allocation));
  }
  return module;
}

CUmodule make_module() {
  const CUcontext context = current_context()->handle;
  return driver().modules.insert(load_module(context));
}

/// The handle of a kernel by name, the same at every call.
template <class Handle, class Make>
Handle named_kernel(Module& module, const char* name, Make make) {
  const auto code = driver().registry.find(&checked(name));
  require(code != nullptr, CUDA_ERROR_NOT_FOUND);
  const std::lock_guard lock(module.mutex);
  auto at = module.kernels.find(name);
  if (at == module.kernels.end())
    at = module.kernels.emplace(name, std::bit_cast<std::uint64_t>(make(code))).first;
  return std::bit_cast<Handle>(at->second);
}

CUfunction function_in(CUmodule handle, const char* name) {
  const auto module = driver().modules.get(handle);
  return named_kernel<CUfunction>(*module, name, [&](const auto& code) {
    return driver().functions.insert(std::make_shared<Function>(Function{code, handle}));
  });
}

void synchronize_all() {
  for (const auto& device : driver().devices) driver().synchronize_device(*device);
}

void unload_module(CUmodule handle) {
  const auto module = driver().modules.remove(handle);
  synchronize_all();
  for (const auto& [name, function] : module->kernels) {
    driver().functions.remove(std::bit_cast<CUfunction>(function));
  }
  for (const auto& [name, global] : module->globals) driver().allocations.remove(global->base);
}

CUmodule module_of_library(CUlibrary handle) {
  const auto library = driver().libraries.get(handle);
  const std::lock_guard lock(library->mutex);
  if (!driver().modules.find(library->as_module)) library->as_module = make_module();
  return library->as_module;
}

std::shared_ptr<const KernelCode> code_of_function(CUfunction handle) {
  return driver().functions.get(handle)->code;
}
std::shared_ptr<const KernelCode> code_of_kernel(CUkernel handle) {
  return driver().kernels.get(handle)->code;
}

/// Launches take a CUkernel in place of a CUfunction.
std::shared_ptr<const KernelCode> code_of_either(CUfunction handle) {
  if (const auto function = driver().functions.find(handle)) return function->code;
  return code_of_kernel(reinterpret_cast<CUkernel>(handle));
}

void parameter_info(const KernelCode& code, std::size_t index, std::size_t* offset, std::size_t* size) {
  require(index < code.parameters.size());
  checked(offset) = code.parameters[index].offset;
  if (size) *size = code.parameters[index].size;
}

int function_attribute(CUfunction_attribute which) {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return 90;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 49152;
    default:
      require(which >= 0 && which < CU_FUNC_ATTRIBUTE_MAX);
      return 0;
  }
}

void launch(CUstream stream_handle, CUfunction function, const LaunchShape& shape, void** values,
            void** extra) {
  const auto code = code_of_either(function);
  const auto stream = stream_of(stream_handle);
  stream->context()->submit(
      *stream, launch_work(function, code, shape, stream->context()->device().ordinal, values, extra));
}

void global_of(const Module& module, CUdeviceptr* address, std::size_t* size, const char* name) {
  const auto at = module.globals.find(&checked(name));
  require(at != module.globals.end(), CUDA_ERROR_NOT_FOUND);
  if (address) *address = at->second->base;
  if (size) *size = at->second->size;
}

}  // namespace
}  // namespace tferry::software_driver

using namespace tferry::software_driver;

SWD_API(cuModuleLoad, (CUmodule * out, const char* file)) {
  return call(EntryPoint::cuModuleLoad, [&] {
    checked(file);
    checked(out) = make_module();
  });
}

SWD_API(cuModuleLoadData, (CUmodule * out, const void* image)) {
  return call(EntryPoint::cuModuleLoadData, [&] {
    require(image != nullptr);
    checked(out) = make_module();
  });
}

SWD_API(cuModuleLoadDataEx, (CUmodule * out, const void* image, unsigned, CUjit_option*, void**)) {
  return call(EntryPoint::cuModuleLoadDataEx, [&] {
    require(image != nullptr);
    checked(out) = make_module();
  });
}

SWD_API(cuModuleLoadFatBinary, (CUmodule * out, const void* image)) {
  return call(EntryPoint::cuModuleLoadFatBinary, [&] {
    require(image != nullptr);
    checked(out) = make_module();
  });
}

SWD_API(cuModuleUnload, (CUmodule handle)) {
  return call(EntryPoint::cuModuleUnload, [&] { unload_module(handle); });
}

SWD_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode)) {
  return call(EntryPoint::cuModuleGetLoadingMode, [&] { checked(mode) = CU_MODULE_LAZY_LOADING; });
}

SWD_API(cuModuleGetFunction, (CUfunction * out, CUmodule module, const char* name)) {
  return call(EntryPoint::cuModuleGetFunction, [&] { checked(out) = function_in(module, name); });
}

SWD_API(cuModuleGetGlobal_v2, (CUdeviceptr * address, std::size_t* size, CUmodule module, const char* name)) {
  return call(EntryPoint::cuModuleGetGlobal_v2,
              [&] { global_of(*driver().modules.get(module), address, size, name); });
}

SWD_API(cuLibraryLoadData, (CUlibrary * out, const void* image, CUjit_option*, void**, unsigned,
                            CUlibraryOption*, void**, unsigned)) {
  return call(EntryPoint::cuLibraryLoadData, [&] {
    require(image != nullptr);
    checked(out) = driver().libraries.insert(load_module(nullptr));
  });
}

SWD_API(cuLibraryUnload, (CUlibrary handle)) {
  return call(EntryPoint::cuLibraryUnload, [&] {
    const auto library = driver().libraries.remove(handle);
    synchronize_all();
    for (const auto& [name, kernel] : library->kernels)
      driver().kernels.remove(std::bit_cast<CUkernel>(kernel));
    if (driver().modules.find(library->as_module)) unload_module(library->as_module);
  });
}

SWD_API(cuLibraryGetKernel, (CUkernel * out, CUlibrary handle, const char* name)) {
  return call(EntryPoint::cuLibraryGetKernel, [&] {
    const auto library = driver().libraries.get(handle);
    checked(out) = named_kernel<CUkernel>(*library, name, [&](const auto& code) {
      return driver().kernels.insert(std::make_shared<Kernel>(Kernel{code, handle}));
    });
  });
}

SWD_API(cuLibraryGetModule, (CUmodule * out, CUlibrary library)) {
  return call(EntryPoint::cuLibraryGetModule, [&] { checked(out) = module_of_library(library); });
}

SWD_API(cuLibraryGetGlobal, (CUdeviceptr * address, std::size_t* size, CUlibrary library, const char* name)) {
  return call(EntryPoint::cuLibraryGetGlobal,
              [&] { global_of(*driver().modules.get(module_of_library(library)), address, size, name); });
}

SWD_API(cuKernelGetFunction, (CUfunction * out, CUkernel handle)) {
  return call(EntryPoint::cuKernelGetFunction, [&] {
    const auto kernel = driver().kernels.get(handle);
    checked(out) = function_in(module_of_library(kernel->library), kernel->code->name.c_str());
  });
}

SWD_API(cuKernelGetLibrary, (CUlibrary * out, CUkernel kernel)) {
  return call(EntryPoint::cuKernelGetLibrary, [&] { checked(out) = driver().kernels.get(kernel)->library; });
}

SWD_API(cuKernelGetName, (const char** name, CUkernel kernel)) {
  return call(EntryPoint::cuKernelGetName, [&] { checked(name) = code_of_kernel(kernel)->name.c_str(); });
}

SWD_API(cuKernelGetParamInfo, (CUkernel kernel, std::size_t index, std::size_t* offset, std::size_t* size)) {
  return call(EntryPoint::cuKernelGetParamInfo,
              [&] { parameter_info(*code_of_kernel(kernel), index, offset, size); });
}

SWD_API(cuKernelGetAttribute, (int* value, CUfunction_attribute which, CUkernel kernel, CUdevice device)) {
  return call(EntryPoint::cuKernelGetAttribute, [&] {
    code_of_kernel(kernel);
    driver().device(device);
    checked(value) = function_attribute(which);
  });
}

SWD_API(cuKernelSetAttribute, (CUfunction_attribute which, int, CUkernel kernel, CUdevice device)) {
  return call(EntryPoint::cuKernelSetAttribute, [&] {
    code_of_kernel(kernel);
    driver().device(device);
    function_attribute(which);
  });
}

SWD_API(cuFuncGetModule, (CUmodule * out, CUfunction function)) {
  return call(EntryPoint::cuFuncGetModule, [&] { checked(out) = driver().functions.get(function)->module; });
}

SWD_API(cuFuncGetName, (const char** name, CUfunction function)) {
  return call(EntryPoint::cuFuncGetName, [&] { checked(name) = code_of_function(function)->name.c_str(); });
}

SWD_API(cuFuncGetParamInfo,
        (CUfunction function, std::size_t index, std::size_t* offset, std::size_t* size)) {
  return call(EntryPoint::cuFuncGetParamInfo,
              [&] { parameter_info(*code_of_function(function), index, offset, size); });
}

SWD_API(cuFuncGetAttribute, (int* value, CUfunction_attribute which, CUfunction function)) {
  return call(EntryPoint::cuFuncGetAttribute, [&] {
    code_of_either(function);
    checked(value) = function_attribute(which);
  });
}

SWD_API(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute which, int)) {
  return call(EntryPoint::cuFuncSetAttribute, [&] {
    code_of_either(function);
    function_attribute(which);
  });
}

SWD_API(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache)) {
  return call(EntryPoint::cuFuncSetCacheConfig, [&] { code_of_either(function); });
}

SWD_API(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function)) {
  return call(EntryPoint::cuFuncIsLoaded, [&] {
    code_of_function(function);
    checked(state) = CU_FUNCTION_LOADING_STATE_LOADED;
  });
}

SWD_API(cuFuncLoad, (CUfunction function)) {
  return call(EntryPoint::cuFuncLoad, [&] { code_of_function(function); });
}

SWD_STREAM_API(cuLaunchKernel,
               (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** values,
                void** extra),
               launch(stream, function,
                      LaunchShape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, values,
                      extra))
SWD_STREAM_API(cuLaunchCooperativeKernel,
               (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** values),
               launch(stream, function,
                      LaunchShape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, values,
                      nullptr))

namespace tferry::software_driver {
namespace {

void launch_configured(const CUlaunchConfig& config, CUstream stream, CUfunction function, void** values,
                       void** extra) {
  const LaunchShape shape{{config.gridDimX, config.gridDimY, config.gridDimZ},
                          {config.blockDimX, config.blockDimY, config.blockDimZ},
                          config.sharedMemBytes};
  launch(stream, function, shape, values, extra);
}

}  // namespace
}  // namespace tferry::software_driver

SWD_API(cuLaunchKernelEx, (const CUlaunchConfig* config, CUfunction function, void** values, void** extra)) {
  return call(EntryPoint::cuLaunchKernelEx,
              [&] { launch_configured(checked(config), config->hStream, function, values, extra); });
}

SWD_API(cuLaunchKernelEx_ptsz,
        (const CUlaunchConfig* config, CUfunction function, void** values, void** extra)) {
  return call(EntryPoint::cuLaunchKernelEx, [&] {
    const CUstream stream = checked(config).hStream ? config->hStream : CU_STREAM_PER_THREAD;
    launch_configured(*config, stream, function, values, extra);
  });
}

SWD_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
        (int* count, CUfunction function, int block, std::size_t)) {
  return call(EntryPoint::cuOccupancyMaxActiveBlocksPerMultiprocessor, [&] {
    code_of_either(function);
    require(block > 0 && block <= 1024);
    checked(count) = 2048 / block;
  });
}

SWD_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        (int* count, CUfunction function, int block, std::size_t, unsigned)) {
  return call(EntryPoint::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, [&] {
    code_of_either(function);
    require(block > 0 && block <= 1024);
    checked(count) = 2048 / block;
  });
}
