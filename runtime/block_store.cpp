#include "runtime/block_store.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace tferry::runtime {
namespace {

bool by_address(const Block* a, const Block* b) { return a->address < b->address; }

}  // namespace

BlockStore::BlockStore(ChunkPool& pool, AddressRange range, int device)
    : pool_(pool), range_(range), device_(device) {}

BlockStore::~BlockStore() {
  if (table_ != nullptr) munmap(static_cast<void*>(table_), table_bytes_);
}

bool BlockStore::open() {
  table_bytes_ = range_.size() / pool_.chunk_size() * sizeof(Block*);
  void* memory =
      mmap(nullptr, table_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  table_ = static_cast<Block**>(memory);
  return true;
}

Block* BlockStore::find(CUdeviceptr address) const {
  return range_.contains(address) ? table_[page(address)] : nullptr;
}

Block* BlockStore::make(std::span<const ChunkId> chunks) {
  const std::size_t size = chunks.size() * pool_.chunk_size();
  const CUdeviceptr address = range_.take(size);
  if (address == 0) return nullptr;
  auto block = std::make_unique<Block>();
  block->address = address;
  block->device = device_;
  bool mapped = true;
  for (std::size_t i = 0; i < chunks.size() && mapped; ++i) {
    mapped = pool_.map(address + i * pool_.chunk_size(), chunks[i]);
    if (mapped) block->pieces.push_back({chunks[i], kNoChunk, kNoSlot, Piece::Place::kNowhere});
  }
  if (mapped) mapped = pool_.allow(address, size);
  mappings_ += static_cast<std::int64_t>(block->pieces.size());
  if (!mapped) {
    for (std::size_t i = 0; i < block->pieces.size(); ++i) pool_.unmap(address + i * pool_.chunk_size());
    range_.give_back(address, size);
    return nullptr;
  }
  Block* result = block.get();
  for (std::size_t i = 0; i < chunks.size(); ++i) table_[page(address) + i] = result;
  mapped_bytes_ += size;
  blocks_.emplace(address, std::move(block));
  return result;
}

bool BlockStore::remap(Block& block, std::uint32_t piece, ChunkId chunk) {
  const CUdeviceptr address = block.address + piece * pool_.chunk_size();
  Piece& part = block.pieces[piece];
  if (part.chunk != kNoChunk && !pool_.unmap(address)) return false;
  part.chunk = kNoChunk;
  if (chunk == kNoChunk) return true;
  if (!pool_.map(address, chunk)) return false;
  if (!pool_.allow(address, pool_.chunk_size())) {
    pool_.unmap(address);
    return false;
  }
  part.chunk = chunk;
  block.remapped = true;
  ++mappings_;
  return true;
}

void BlockStore::destroy(Block& block) {
  const CUdeviceptr address = block.address;
  const std::size_t size = block.pieces.size() * pool_.chunk_size();
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    remap(block, i, kNoChunk);
    table_[page(address) + i] = nullptr;
  }
  mapped_bytes_ -= size;
  range_.give_back(address, size);
  blocks_.erase(address);
}

void BlockStore::add_free(Block& block) {
  auto& list = free_[block.pieces.size()];
  list.insert(std::lower_bound(list.begin(), list.end(), &block, by_address), &block);
}

void BlockStore::remove_free(Block& block) {
  auto& list = free_[block.pieces.size()];
  list.erase(std::lower_bound(list.begin(), list.end(), &block, by_address));
}

std::span<Block* const> BlockStore::free_blocks(std::size_t pieces) const {
  const auto found = free_.find(pieces);
  if (found == free_.end()) return {};
  return found->second;
}

std::vector<Block*> BlockStore::free_blocks_mapping(ChunkId chunk) const {
  std::vector<Block*> mapping;
  for (const auto& [pieces, list] : free_) {
    for (Block* block : list) {
      if (std::any_of(block->pieces.begin(), block->pieces.end(),
                      [&](const Piece& p) { return p.chunk == chunk; })) {
        mapping.push_back(block);
      }
    }
  }
  return mapping;
}

}  // namespace tferry::runtime
