#pragma once

#include "cuda/driver.hpp"

namespace tferry::runtime {

/// The driver behind a hook. A hook is only reached in a process that has a driver or is linked to one; where
/// one is linked and cannot be opened, every call answers CUDA_ERROR_NO_DEVICE, as a stub would.
inline const cuda::Driver& real() {
  static const cuda::Driver none{};
  const cuda::Driver* found = cuda::driver();
  return found != nullptr ? *found : none;
}

/// Calls an entry point that this driver may lack.
template <class Function, class... Arguments>
CUresult call(Function function, Arguments... arguments) {
  return function != nullptr ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
}

}  // namespace tferry::runtime
