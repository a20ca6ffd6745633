#include "runtime/chunk_assignment.hpp"

#include <algorithm>

namespace tferry::runtime {

std::vector<ChunkId> assign_chunks(std::size_t plan_chunks, std::span<const HeldPiece> pieces,
                                   std::span<const ChunkId> available) {
  std::vector<ChunkId> assigned(plan_chunks, kNoChunk);
  std::vector<bool> taken(available.size(), false);
  // Chunks of contents that stay go to nobody else, also where another piece was first.
  std::vector<bool> kept(available.size(), false);
  const auto index_of = [&](ChunkId chunk) {
    const auto found = std::lower_bound(available.begin(), available.end(), chunk);
    return found != available.end() && *found == chunk ? static_cast<std::size_t>(found - available.begin())
                                                       : available.size();
  };
  for (const HeldPiece& piece : pieces) {
    const std::size_t index = piece.stays ? index_of(piece.mapped) : available.size();
    if (index != available.size()) kept[index] = true;
  }
  for (const bool stays : {true, false}) {
    for (const HeldPiece& piece : pieces) {
      if (piece.stays != stays || piece.mapped == kNoChunk) continue;
      const std::size_t index = index_of(piece.mapped);
      if (index == available.size() || taken[index] || (kept[index] && !stays)) continue;
      if (assigned[piece.plan_chunk] != kNoChunk) continue;
      assigned[piece.plan_chunk] = piece.mapped;
      taken[index] = true;
    }
  }
  std::size_t next = 0;
  for (ChunkId& chunk : assigned) {
    if (chunk != kNoChunk) continue;
    while (next < available.size() && (taken[next] || kept[next])) ++next;
    if (next == available.size()) break;
    chunk = available[next++];
  }
  return assigned;
}

}  // namespace tferry::runtime
