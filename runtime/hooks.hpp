#pragma once

#include "cuda/interpose.hpp"

#include <span>

/// The functions that stand in for the driver's. Each is exported under the driver's exact name, so that
/// programs linked to libcuda meet it too, and listed here for the other ways in. Grouped by what they are
/// about: memory, pools, launches, copies, sets, streams and graphs, contexts.
namespace tferry::runtime {

std::span<const cuda::Hook> all_hooks();

std::span<const cuda::Hook> memory_hooks();
std::span<const cuda::Hook> other_memory_hooks();
std::span<const cuda::Hook> pool_hooks();
std::span<const cuda::Hook> attribute_hooks();
std::span<const cuda::Hook> launch_hooks();
std::span<const cuda::Hook> copy_hooks();
std::span<const cuda::Hook> set_hooks();
std::span<const cuda::Hook> stream_hooks();
std::span<const cuda::Hook> context_hooks();
std::span<const cuda::Hook> lookup_hooks();

}  // namespace tferry::runtime

#define TFERRY_EXPORT extern "C" __attribute__((visibility("default")))
#define TFERRY_HOOK(name) \
  ::tferry::cuda::Hook { #name, reinterpret_cast<void*>(&name) }
