// Interposition for the preloaded experiment libraries: a library names its hooks, and programs get them
// however they ask: through the symbol itself, dlsym, or cuGetProcAddress (whose answer is recognised by its
// address).
#pragma once

#include <span>

namespace tferry::experiments {

struct Hook {
  const char* symbol;  // exact exported name, "cuMemAlloc_v2"
  void* ours;
  void* real = nullptr;  // filled at first use
};

/// Each library defines its own.
std::span<Hook> hooks();

/// The driver's own entry point, never a hook; null where the driver has none of that name.
void* driver_symbol(const char* name);

template <class Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(driver_symbol(name));
}

}  // namespace tferry::experiments

/// The driver's function of that exported name, typed, looked up once.
#define TFERRY_REAL(name)                                                                    \
  ([]() {                                                                                    \
    static const auto real = ::tferry::experiments::driver_function<decltype(&name)>(#name); \
    return real;                                                                             \
  }())

#define TFERRY_HOOK(name) \
  ::tferry::experiments::Hook { #name, reinterpret_cast<void*>(&name) }
