#pragma once

#include "runtime/chunk_pool.hpp"
#include "runtime/host_pool.hpp"
#include "runtime/moment.hpp"
#include "trace/job_status.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::runtime {

/// One chunk's worth of a block: what is mapped at its address, and where its contents are.
struct Piece {
  enum class Place : std::uint8_t {
    kNowhere,   ///< the block is free: no contents
    kOnDevice,  ///< in `chunk`, which this piece owns
    kParked     ///< in host slot `slot`; `chunk` is only mapped here, and may be another's by now
  };
  ChunkId chunk = kNoChunk;  ///< mapped at this piece's address; kNoChunk: nothing is
  ChunkId home = kNoChunk;   ///< which the plan in place has for it; kNoChunk: none
  SlotId slot = kNoSlot;
  Place place = Place::kNowhere;
};

/// A range of the program's device addresses, a whole number of pieces: either live (an allocation of the
/// program) or free, kept with its mappings so that an allocation of that size costs no mapping call.
struct Block {
  CUdeviceptr address = 0;
  int device = 0;
  std::vector<Piece> pieces;

  bool live = false;
  bool stream_ordered = false;    ///< by cuMemAllocAsync
  bool arena = false;             ///< holds small allocations; always resident
  bool remapped = false;          ///< pieces were mapped anew, each for itself
  bool planned = false;           ///< the plan in place has it: while free, it is in no list
  std::uint32_t plan_tensor = 0;  ///< of that plan
  std::size_t requested = 0;      ///< bytes the program asked for
  std::uint64_t buffer_id = 0;    ///< of the allocation, never used again
  std::uint32_t pins = 0;         ///< operations being submitted that name it
  std::uint32_t named = 0;        ///< operations under way that hold a pointer to it: it is not destroyed
  std::uint32_t parked = 0;       ///< pieces in host memory
  trace::ResidentReason resident_reason = trace::ResidentReason::kCount;  ///< kCount: movable
  std::uint64_t last_use = 0;       ///< tick of the last operation that named it
  std::uint64_t repeated_use = 0;   ///< the same, as ReclaimMemory calls it
  std::uint32_t capture_group = 0;  ///< captures that know it; 0: none
  Moments uses;                     ///< the last operation of each stream that named it
  Moments pending;                  ///< what a use has to wait for

  Block* older = nullptr;  ///< neighbours in the order of last use (movable, live blocks only)
  Block* newer = nullptr;
  bool in_order = false;

  bool movable() const { return resident_reason == trace::ResidentReason::kCount; }
  /// Whether two pieces map one chunk, so that it cannot hold contents as it is. Pieces that were away and
  /// came back apart from each other can.
  bool maps_twice() const {
    if (!remapped) return false;
    std::vector<ChunkId> chunks;
    for (const Piece& piece : pieces) chunks.push_back(piece.chunk);
    std::sort(chunks.begin(), chunks.end());
    return std::adjacent_find(chunks.begin(), chunks.end()) != chunks.end();
  }
  std::uint32_t piece_count() const { return static_cast<std::uint32_t>(pieces.size()); }
};

/// Movable live blocks from the least to the most recently used.
class UseOrder {
 public:
  Block* oldest() const { return oldest_; }
  void touch(Block& block) {
    if (newest_ == &block) return;
    remove(block);
    block.older = newest_;
    block.newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = &block;
    newest_ = &block;
    block.in_order = true;
  }
  void remove(Block& block) {
    if (!block.in_order) return;
    (block.older != nullptr ? block.older->newer : oldest_) = block.newer;
    (block.newer != nullptr ? block.newer->older : newest_) = block.older;
    block.older = block.newer = nullptr;
    block.in_order = false;
  }

 private:
  Block* oldest_ = nullptr;
  Block* newest_ = nullptr;
};

}  // namespace tferry::runtime
