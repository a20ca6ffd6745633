#pragma once

#include "runtime/chunk_pool.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tferry::runtime {

/// A piece of a tensor that is alive when a plan is adopted.
struct HeldPiece {
  std::uint32_t plan_chunk = 0;  ///< where the plan has it
  ChunkId mapped = kNoChunk;     ///< at its address; kNoChunk: nothing is
  bool stays = false;            ///< its contents are there, and stay
};

/// Chooses a device chunk for every plan chunk: that of a piece which stays (the first, where several want
/// one plan chunk), else one that is mapped where it is wanted, else the lowest left of `available`, in
/// rising order, so that pieces which are copied together lie together. Plan chunks for which none is left
/// get kNoChunk. `available` is sorted and holds the chunks of all pieces that stay.
std::vector<ChunkId> assign_chunks(std::size_t plan_chunks, std::span<const HeldPiece> pieces,
                                   std::span<const ChunkId> available);

}  // namespace tferry::runtime
