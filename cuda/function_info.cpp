#include "cuda/function_info.hpp"

#include "trace/flat_plan.hpp"

#include <algorithm>
#include <cstring>

namespace tferry::cuda {
namespace {

constexpr std::size_t kMaxParameters = 4096;  // the driver's own limit is 32,764 bytes of them

/// Reads parameters until the driver knows no further one; what it answers then, CUDA_ERROR_INVALID_VALUE if
/// the layout is whole.
template <class Ask>
CUresult read_layout(FunctionInfo& info, Ask ask) {
  std::size_t offset = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kMaxParameters; ++i) {
    const CUresult result = ask(i, &offset, &size);
    if (result != CUDA_SUCCESS) return result;
    info.parameters.push_back({offset, size});
    info.buffer_size = std::max(info.buffer_size, offset + size);
  }
  return CUDA_ERROR_INVALID_VALUE;
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
  auto* kernel = reinterpret_cast<CUkernel>(function);
  CUresult by_kernel = CUDA_ERROR_INVALID_HANDLE;
  CUresult by_function = CUDA_ERROR_INVALID_HANDLE;
  if (driver.cuKernelGetParamInfo != nullptr) {
    by_kernel = read_layout(
        *info, [&](auto i, auto* o, auto* s) { return driver.cuKernelGetParamInfo(kernel, i, o, s); });
    if (!info->parameters.empty() && driver.cuKernelGetName != nullptr) driver.cuKernelGetName(&name, kernel);
  }
  if (info->parameters.empty() && driver.cuFuncGetParamInfo != nullptr) {
    by_function = read_layout(
        *info, [&](auto i, auto* o, auto* s) { return driver.cuFuncGetParamInfo(function, i, o, s); });
    if (!info->parameters.empty() && driver.cuFuncGetName != nullptr) driver.cuFuncGetName(&name, function);
  }
  // Half a layout would leave arguments unseen; it is asked for again at the next launch.
  const CUresult end =
      !info->parameters.empty() && by_function == CUDA_ERROR_INVALID_HANDLE ? by_kernel : by_function;
  const bool whole = info->parameters.empty()
                         ? by_kernel == CUDA_ERROR_INVALID_VALUE || by_function == CUDA_ERROR_INVALID_VALUE
                         : end == CUDA_ERROR_INVALID_VALUE;
  if (!whole) return nullptr;
  if (name != nullptr) info->name = name;
  info->name_hash = trace::OperationSignature::name_hash(info->name);
  info->collective = is_collective(name);
  if (!info->parameters.empty())
    info->multi_tensor = multi_tensor_layout(info->name, info->parameters.front().size);
  const std::unique_lock lock(mutex_);
  const auto [place, inserted] = known_.emplace(function, info.get());
  if (inserted) all_.push_back(std::move(info));
  return place->second;
}

void FunctionTable::forget_all() {
  const std::unique_lock lock(mutex_);
  known_.clear();
}

}  // namespace tferry::cuda
