#pragma once

#include <atomic>

namespace tferry::cuda {

/// The function that a hook of ours stands in front of, exported under the same name: what the caller would
/// have reached without us. `known` keeps it, once found; `hook` is ours, `caller` an address in the library
/// that called it. Null when no library that is loaded has it.
///
/// Three places, in this order: the libraries behind ours in the order of loading (RTLD_NEXT); the caller's
/// library with all that it was linked to; every library that is loaded. The first is empty where a program
/// loaded the library privately (RTLD_LOCAL), as Python does with PyTorch and so with NCCL. Any thread.
void* next_function(std::atomic<void*>& known, const char* name, const void* hook, const void* caller);

}  // namespace tferry::cuda
