#pragma once

#include "cuda/driver.hpp"
#include "runtime/moment.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::runtime {

struct Block;

using ChunkId = std::uint32_t;
inline constexpr ChunkId kNoChunk = ~ChunkId{0};

/// One device handle. All have one size, so that any free chunk serves any tensor (ALGORITHMS.md, rule 4).
struct Chunk {
  CUmemGenericAllocationHandle handle = 0;
  Block* owner = nullptr;    ///< whose contents are in it; null: free
  std::uint32_t piece = 0;   ///< which piece of the owner
  std::uint32_t claims = 0;  ///< parked pieces whose address is mapped here: a fetch would want it back
  bool planned = false;      ///< a plan in place has uses for it: others take it last
  Moments free_after;        ///< what must have passed before other contents may be written
  bool exists = false;
};

/// The device handles of one device, each mapped for good at an address of the runtime's own, its alias:
/// copies run through aliases, never through the program's addresses. Chunk n's alias is `n` chunk sizes
/// behind the first, so neighbouring ids can be copied in one piece.
///
/// Under the runtime's lock; the device's context is current.
class ChunkPool {
 public:
  ChunkPool(const cuda::Driver& driver, CUdevice device, std::size_t chunk_size, std::size_t most_chunks);

  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  /// Reserves the aliases' addresses. False: the driver has none.
  bool open();
  /// Makes up to `count` more chunks, as many as the limit and the card allow; returns how many.
  std::size_t grow(std::size_t count);
  /// Unmaps and releases a free chunk, which no other address may still map.
  void destroy(ChunkId id);

  Chunk& operator[](ChunkId id) { return chunks_[id]; }
  CUdeviceptr alias(ChunkId id) const { return aliases_ + static_cast<std::size_t>(id) * chunk_size_; }
  std::size_t chunk_size() const { return chunk_size_; }
  std::size_t existing() const { return existing_; }
  std::size_t limit() const { return limit_; }
  void set_limit(std::size_t chunks) { limit_ = chunks; }
  std::size_t free_count() const { return free_count_; }
  /// Free chunks that no plan in place has uses for.
  std::size_t unplanned_free_count() const { return free_count_ - planned_free_count_; }
  ChunkId end() const { return static_cast<ChunkId>(chunks_.size()); }

  void set_owner(ChunkId id, Block* owner, std::uint32_t piece);
  void clear_owner(ChunkId id);
  void set_planned(ChunkId id, bool planned);

  /// `count` free chunks in rising order, unplanned ones and those without claims first; fewer when fewer are
  /// free. The lowest, or going on where the last search ended (`rotate`), which keeps the chunks of what is
  /// allocated together together.
  std::vector<ChunkId> pick_free(std::size_t count, bool rotate);
  /// How many free chunks no parked piece wants back.
  std::size_t unclaimed_free() const;

  /// Access for one more device (the program made it a peer).
  void add_peer(CUdevice peer);
  /// Maps `chunk` at `address` (no access yet) and gives access to a whole range afterwards.
  bool map(CUdeviceptr address, ChunkId chunk);
  /// False: it is mapped as before. Tried twice: what stays mapped is lost to everybody.
  bool unmap(CUdeviceptr address);
  bool allow(CUdeviceptr address, std::size_t size);

 private:
  void count_free(const Chunk& chunk, int change);

  const cuda::Driver& driver_;
  CUdevice device_;
  std::size_t chunk_size_;
  std::size_t limit_;
  std::size_t most_;
  CUdeviceptr aliases_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<CUmemAccessDesc> access_;
  std::size_t existing_ = 0;
  std::size_t free_count_ = 0;
  std::size_t planned_free_count_ = 0;
  ChunkId next_ = 0;
};

}  // namespace tferry::runtime
