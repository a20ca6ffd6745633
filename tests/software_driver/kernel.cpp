#include "tests/software_driver/kernel.hpp"

#include "tests/software_driver/error.hpp"
#include "tests/software_driver/pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tferry::software_driver {
namespace {

constexpr std::size_t kLargestParameters = 32764;

/// A launch's own copy of its parameters, laid out as the kernel declares them.
struct Parameters {
  std::vector<std::max_align_t> storage;
  std::vector<void*> pointers;
};

std::size_t extent_of(const KernelCode& code) {
  std::size_t extent = 0;
  for (const auto& parameter : code.parameters) extent = std::max(extent, parameter.offset + parameter.size);
  return extent;
}

Parameters copy_parameters(const KernelCode& code, void** values, void** extra) {
  const std::size_t extent = extent_of(code);
  Parameters copy;
  copy.storage.resize(extent / sizeof(std::max_align_t) + 1);
  auto* bytes = reinterpret_cast<std::byte*>(copy.storage.data());
  if (extra) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(at[1]);
    }
    require(size >= extent && (extent == 0 || buffer));
    if (extent > 0) std::memcpy(bytes, buffer, extent);
  } else {
    require(code.parameters.empty() || values);
    for (std::size_t i = 0; i < code.parameters.size(); ++i) {
      require(values[i] != nullptr);
      std::memcpy(bytes + code.parameters[i].offset, values[i], code.parameters[i].size);
    }
  }
  for (const auto& parameter : code.parameters) copy.pointers.push_back(bytes + parameter.offset);
  return copy;
}

std::shared_ptr<const WorkDetails> details_of(CUfunction function, const LaunchShape& shape,
                                              const std::shared_ptr<Parameters>& parameters) {
  auto details = std::make_shared<WorkDetails>();
  details->values = parameters->pointers;
  details->owner = parameters;
  details->kernel.func = function;
  details->kernel.gridDimX = shape.grid[0];
  details->kernel.gridDimY = shape.grid[1];
  details->kernel.gridDimZ = shape.grid[2];
  details->kernel.blockDimX = shape.block[0];
  details->kernel.blockDimY = shape.block[1];
  details->kernel.blockDimZ = shape.block[2];
  details->kernel.sharedMemBytes = shape.shared_bytes;
  details->kernel.kernelParams = details->values.data();
  return details;
}

}  // namespace

void KernelRegistry::add(KernelCode code) {
  require(code.function != nullptr && !code.name.empty() && code.duration >= 0);
  require(extent_of(code) <= kLargestParameters);
  std::string name = code.name;
  const std::lock_guard lock(mutex_);
  by_name_[name] = std::make_shared<const KernelCode>(std::move(code));
}

void KernelRegistry::add_global(std::string name, std::size_t size) {
  const std::lock_guard lock(mutex_);
  globals_[std::move(name)] = size;
}

std::shared_ptr<const KernelCode> KernelRegistry::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

std::vector<std::shared_ptr<const KernelCode>> KernelRegistry::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const KernelCode>> kernels;
  for (const auto& [name, code] : by_name_) kernels.push_back(code);
  return kernels;
}

std::map<std::string, std::size_t> KernelRegistry::globals() const {
  const std::lock_guard lock(mutex_);
  return globals_;
}

Work launch_work(CUfunction function, std::shared_ptr<const KernelCode> code, const LaunchShape& shape,
                 int device, void** values, void** extra) {
  require(!(values && extra));
  for (int i = 0; i < 3; ++i) require(shape.grid[i] > 0 && shape.block[i] > 0);
  require(std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2] <= 1024);
  auto parameters = std::make_shared<Parameters>(copy_parameters(*code, values, extra));
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
  work.duration = code->duration;
  work.details = details_of(function, shape, parameters);
  work.run = [code = std::move(code), shape, device, parameters = std::move(parameters)] {
    SwdLaunch launch{};
    launch.name = code->name.c_str();
    std::copy_n(shape.grid, 3, launch.grid);
    std::copy_n(shape.block, 3, launch.block);
    launch.shared_bytes = shape.shared_bytes;
    launch.device = device;
    launch.parameter_count = static_cast<unsigned>(parameters->pointers.size());
    launch.parameters = parameters->pointers.data();
    kernel_begins();
    code->function(&launch);
    kernel_ended();
  };
  return work;
}

}  // namespace tferry::software_driver
