#pragma once

#include "cuda/driver.hpp"

#include <span>

/// Standing between a program and its driver (ALGORITHMS.md, rule 8). A program reaches the driver in three
/// ways, and all three meet here: by exported name (programs linked to libcuda: the preloaded library exports
/// the same names), by `dlsym`, and by `cuGetProcAddress` (the CUDA runtime, static or shared). Hooks are
/// exact names; a pointer that the real driver gives out is replaced by comparing addresses, so versions and
/// entry points that we do not know pass through untouched.
namespace tferry::cuda {

/// One hook: the exported name and our function for it.
struct Hook {
  const char* name;
  void* function;
};

/// Installs the hooks. Called once, from a constructor of the preloaded library, before any thread of the
/// program. `enabled` false makes every look-up answer with the real driver. The span must live for ever.
void install_hooks(std::span<const Hook> hooks, bool enabled);

/// Our function in place of the driver's `real`, or `real` itself. `real` may be null.
void* substitute(void* real);

/// Number of look-ups that were answered with a hook.
long hooks_handed_out();

}  // namespace tferry::cuda
