#include "cuda/real_dlsym.hpp"

#include <dlfcn.h>
#include <initializer_list>

namespace tferry::cuda {

DlsymFunction real_dlsym() {
  static const DlsymFunction function = [] {
    // dlvsym is not hooked; glibc 2.34 moved dlsym into libc and kept the old version beside the new.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
      if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<DlsymFunction>(found);
    }
    return DlsymFunction{};
  }();
  return function;
}

}  // namespace tferry::cuda
