#include "runtime/hooks.hpp"

#include "runtime/real.hpp"
#include "runtime/runtime.hpp"

#include <string_view>
#include <vector>

using namespace tferry::runtime;

TFERRY_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                           CUdriverProcAddressQueryResult* status) {
  const CUresult result = call(real().cuGetProcAddress_v2, symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && function != nullptr) {
    *function = tferry::cuda::substitute(*function);
    Runtime::status().reach(tferry::trace::JobStage::kDriverFound);
  }
  return result;
}

// The form before CUDA 12, which programs built then still ask for. cuda.h has given its name to the new one.
#undef cuGetProcAddress
TFERRY_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

namespace tferry::runtime {

std::span<const cuda::Hook> lookup_hooks() {
  static const cuda::Hook hooks[] = {TFERRY_HOOK(cuGetProcAddress_v2), TFERRY_HOOK(cuGetProcAddress)};
  return hooks;
}

std::span<const cuda::Hook> all_hooks() {
  static const auto* hooks = [] {
    auto* all = new std::vector<cuda::Hook>;
    for (const auto group :
         {lookup_hooks(), memory_hooks(), other_memory_hooks(), pool_hooks(), attribute_hooks(),
          launch_hooks(), copy_hooks(), set_hooks(), stream_hooks(), context_hooks()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
    return all;
  }();
  return *hooks;
}

}  // namespace tferry::runtime
