#include "cuda/function_info.hpp"

#include <algorithm>
#include <cstring>

namespace tferry::cuda {
namespace {

constexpr std::size_t kMaxParameters = 4096;  // the driver's own limit is 32,764 bytes of them

template <class Ask>
bool read_layout(FunctionInfo& info, Ask ask) {
  std::size_t offset = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kMaxParameters; ++i) {
    const CUresult result = ask(i, &offset, &size);
    if (result != CUDA_SUCCESS) return i > 0 || result == CUDA_ERROR_INVALID_VALUE;
    info.parameters.push_back({offset, size});
    info.buffer_size = std::max(info.buffer_size, offset + size);
  }
  return true;
}

bool is_collective(const char* name) {
  return name != nullptr &&
         (std::strncmp(name, "ncclDevKernel", 13) == 0 || std::strncmp(name, "ncclKernel", 10) == 0);
}

}  // namespace

const FunctionInfo* FunctionTable::find(const Driver& driver, CUfunction function) {
  {
    const std::shared_lock lock(mutex_);
    const auto found = known_.find(function);
    if (found != known_.end()) return found->second;
  }
  auto info = std::make_unique<FunctionInfo>();
  const char* name = nullptr;
  bool read = false;
  auto* kernel = reinterpret_cast<CUkernel>(function);
  std::size_t offset = 0;
  std::size_t size = 0;
  if (driver.cuKernelGetParamInfo != nullptr &&
      driver.cuKernelGetParamInfo(kernel, 0, &offset, &size) == CUDA_SUCCESS) {
    if (driver.cuKernelGetName != nullptr) driver.cuKernelGetName(&name, kernel);
    read = read_layout(
        *info, [&](auto i, auto* o, auto* s) { return driver.cuKernelGetParamInfo(kernel, i, o, s); });
  } else if (driver.cuFuncGetParamInfo != nullptr) {
    read = read_layout(
        *info, [&](auto i, auto* o, auto* s) { return driver.cuFuncGetParamInfo(function, i, o, s); });
    if (!info->parameters.empty() && driver.cuFuncGetName != nullptr) driver.cuFuncGetName(&name, function);
  }
  if (name != nullptr) info->name = name;
  info->collective = is_collective(name);
  const std::unique_lock lock(mutex_);
  const auto [place, inserted] = known_.emplace(function, read ? info.get() : nullptr);
  if (inserted && read) all_.push_back(std::move(info));
  return place->second;
}

void FunctionTable::forget_all() {
  const std::unique_lock lock(mutex_);
  known_.clear();
}

}  // namespace tferry::cuda
