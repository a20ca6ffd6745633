#include "runtime/chunk_pool.hpp"

#include <algorithm>

namespace tferry::runtime {

ChunkPool::ChunkPool(const cuda::Driver& driver, CUdevice device, std::size_t chunk_size,
                     std::size_t most_chunks)
    : driver_(driver), device_(device), chunk_size_(chunk_size), limit_(most_chunks), most_(most_chunks) {
  access_.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
}

ChunkPool::~ChunkPool() {
  // Fails, and may, where chunks still exist.
  if (aliases_ != 0) driver_.cuMemAddressFree(aliases_, most_ * chunk_size_);
}

bool ChunkPool::open() {
  return driver_.cuMemAddressReserve(&aliases_, most_ * chunk_size_, chunk_size_, 0, 0) == CUDA_SUCCESS;
}

std::size_t ChunkPool::grow(std::size_t count) {
  count = std::min({count, limit_ - std::min(limit_, existing_), most_ - existing_});
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device_}};
  std::size_t made = 0;
  ChunkId id = 0;
  while (made < count) {
    // Numbers of destroyed chunks are used again: their aliases are free.
    while (id < chunks_.size() && chunks_[id].exists) ++id;
    CUmemGenericAllocationHandle handle = 0;
    if (driver_.cuMemCreate(&handle, chunk_size_, &properties, 0) != CUDA_SUCCESS) break;
    if (id == chunks_.size()) chunks_.emplace_back();
    if (driver_.cuMemMap(alias(id), chunk_size_, 0, handle, 0) != CUDA_SUCCESS) {
      driver_.cuMemRelease(handle);
      break;
    }
    if (!allow(alias(id), chunk_size_)) {
      unmap(alias(id));
      driver_.cuMemRelease(handle);
      break;
    }
    Chunk& chunk = chunks_[id];
    chunk.handle = handle;
    chunk.exists = true;
    chunk.claims = 0;
    chunk.free_after.clear();
    chunk.planned = false;
    ++existing_;
    count_free(chunk, 1);
    ++made;
  }
  return made;
}

void ChunkPool::destroy(ChunkId id) {
  Chunk& chunk = chunks_[id];
  unmap(alias(id));
  driver_.cuMemRelease(chunk.handle);
  chunk.exists = false;
  chunk.handle = 0;
  --existing_;
  count_free(chunk, -1);
  chunk.planned = false;
}

void ChunkPool::set_owner(ChunkId id, Block* owner, std::uint32_t piece) {
  Chunk& chunk = chunks_[id];
  if (chunk.owner == nullptr) count_free(chunk, -1);
  chunk.owner = owner;
  chunk.piece = piece;
}

void ChunkPool::clear_owner(ChunkId id) {
  Chunk& chunk = chunks_[id];
  if (chunk.owner != nullptr) count_free(chunk, 1);
  chunk.owner = nullptr;
}

void ChunkPool::set_planned(ChunkId id, bool planned) {
  Chunk& chunk = chunks_[id];
  if (chunk.owner == nullptr) count_free(chunk, -1);
  chunk.planned = planned;
  if (chunk.owner == nullptr) count_free(chunk, 1);
}

void ChunkPool::count_free(const Chunk& chunk, int change) {
  free_count_ += static_cast<std::size_t>(change);
  if (chunk.planned) planned_free_count_ += static_cast<std::size_t>(change);
}

std::vector<ChunkId> ChunkPool::pick_free(std::size_t count, bool rotate) {
  std::vector<ChunkId> picked;
  picked.reserve(count);
  for (const unsigned last_resort : {0U, 1U, 2U, 3U}) {
    for (ChunkId step = 0; step < end() && picked.size() < count; ++step) {
      const ChunkId id = rotate ? (next_ + step) % end() : step;
      const Chunk& chunk = chunks_[id];
      const unsigned wanted = (chunk.planned ? 2U : 0U) + (chunk.claims > 0 ? 1U : 0U);
      if (chunk.exists && chunk.owner == nullptr && wanted == last_resort) picked.push_back(id);
    }
  }
  if (!picked.empty()) next_ = (picked.back() + 1) % end();
  std::sort(picked.begin(), picked.end());
  return picked;
}

std::size_t ChunkPool::unclaimed_free() const {
  return static_cast<std::size_t>(std::count_if(chunks_.begin(), chunks_.end(), [](const Chunk& chunk) {
    return chunk.exists && chunk.owner == nullptr && chunk.claims == 0;
  }));
}

void ChunkPool::add_peer(CUdevice peer) {
  access_.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, {peer}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
}

bool ChunkPool::map(CUdeviceptr address, ChunkId chunk) {
  return driver_.cuMemMap(address, chunk_size_, 0, chunks_[chunk].handle, 0) == CUDA_SUCCESS;
}

bool ChunkPool::unmap(CUdeviceptr address) {
  return driver_.cuMemUnmap(address, chunk_size_) == CUDA_SUCCESS ||
         driver_.cuMemUnmap(address, chunk_size_) == CUDA_SUCCESS;
}

bool ChunkPool::allow(CUdeviceptr address, std::size_t size) {
  return driver_.cuMemSetAccess(address, size, access_.data(), access_.size()) == CUDA_SUCCESS;
}

}  // namespace tferry::runtime
