#pragma once

#include <algorithm>
#include <cstdint>

namespace tferry::trace {

/// How the runtime divides device memory, so that plans count as it does. Sizes are bytes.
struct MemoryRules {
  std::uint64_t chunk = 0;    ///< of one device handle: what blocks are rounded up to
  std::uint64_t movable = 0;  ///< blocks from this size on can move

  /// What the runtime chooses under a budget unless it is told otherwise. Small chunks waste less by
  /// rounding, large ones need fewer mapping calls: GPT-2 in 9.8 GiB ran at 254 ms a step with 4 MiB, 335
  /// with 2 and 297 with 8 (docs/results/experiments.md).
  static constexpr MemoryRules for_budget(std::uint64_t budget) {
    constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
    return with_chunk(budget > 32 * kGiB ? 8 * kMiB : budget > 2 * kGiB ? 4 * kMiB : 2 * kMiB);
  }
  static constexpr MemoryRules with_chunk(std::uint64_t chunk) {
    constexpr std::uint64_t kMovable = 4 << 20;
    return {chunk, std::max(chunk, kMovable)};
  }

  /// Allocations of up to this size live in blocks that they share and that stay.
  constexpr std::uint64_t largest_small() const { return chunk / 2; }
  constexpr std::uint64_t pieces(std::uint64_t bytes) const { return bytes / chunk + (bytes % chunk != 0); }
};

}  // namespace tferry::trace
