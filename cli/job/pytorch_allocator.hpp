#pragma once

#include <string>
#include <string_view>

namespace tferry::cli {

class Environment;

/// How PyTorch's tensors become visible to the driver hooks.
enum class PytorchAllocator {
  kAuto,      ///< kUncached, unless the user chose an allocator that shows tensors already
  kUncached,  ///< PYTORCH_NO_CUDA_MEMORY_CACHING: every tensor is a cuMemAlloc, our cache stands below
  kAsync,     ///< backend:cudaMallocAsync, merged into the user's settings
  kNative     ///< nothing is set: segments of the caching allocator are what we see
};

/// `auto`, `uncached`, `async`, `native`; throws Failure otherwise.
PytorchAllocator parse_pytorch_allocator(std::string_view text);

/// Sets what the choice needs and nothing else. PyTorch reads these variables as a whole, and newer versions
/// read PYTORCH_ALLOC_CONF before PYTORCH_CUDA_ALLOC_CONF: both are set, each with everything the user had.
/// Returns the choice in words.
std::string apply_pytorch_allocator(PytorchAllocator choice, Environment& environment);

/// The settings with `key:value` set, others kept in their order; commas within [...] do not separate.
std::string merge_allocator_setting(std::string_view settings, std::string_view key, std::string_view value);

}  // namespace tferry::cli
