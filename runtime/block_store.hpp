#pragma once

#include "runtime/address_space.hpp"
#include "runtime/block.hpp"

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// The blocks of one device: their addresses, what is mapped there, and which of them are free, by size.
///
/// Mapping calls act when the CPU makes them, take no stream and wait for nothing (ALGORITHMS.md, rule 1), so
/// a block is mapped before it is handed out, and mapped anew only when no operation that used the old
/// mapping can still run; the caller sees to that. Under the runtime's lock.
class BlockStore {
 public:
  BlockStore(ChunkPool& pool, AddressRange range, int device);
  ~BlockStore();
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  bool open();

  /// The block that holds the address, live or free; null for others.
  Block* find(CUdeviceptr address) const;

  /// A new free block over these chunks. Null when the driver refuses.
  Block* make(std::span<const ChunkId> chunks);
  /// Maps another chunk (or kNoChunk: none) at one piece of the block. False where the driver refuses; then
  /// the old one is mapped, or none.
  bool remap(Block& block, std::uint32_t piece, ChunkId chunk);
  /// Unmaps a free block, one that is in no list, and gives its addresses back.
  void destroy(Block& block);

  void add_free(Block& block);
  void remove_free(Block& block);
  /// Free blocks of exactly this many pieces, lowest address first.
  std::span<Block* const> free_blocks(std::size_t pieces) const;

  /// Free blocks that map the chunk; live ones cannot be taken apart.
  std::vector<Block*> free_blocks_mapping(ChunkId chunk) const;
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& [address, block] : blocks_) visit(*block);
  }

  CUdeviceptr begin() const { return range_.begin(); }
  CUdeviceptr high_water() const { return range_.high_water(); }
  std::size_t mapped_bytes() const { return mapped_bytes_; }
  std::int64_t mappings() const { return mappings_; }

 private:
  std::size_t page(CUdeviceptr address) const { return (address - range_.begin()) / pool_.chunk_size(); }

  ChunkPool& pool_;
  AddressRange range_;
  int device_;
  Block** table_ = nullptr;  ///< by page of the range; reserved in full, touched where used
  std::size_t table_bytes_ = 0;
  std::unordered_map<CUdeviceptr, std::unique_ptr<Block>> blocks_;
  std::unordered_map<std::size_t, std::vector<Block*>> free_;
  std::size_t mapped_bytes_ = 0;
  std::int64_t mappings_ = 0;
};

}  // namespace tferry::runtime
