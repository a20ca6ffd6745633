// The part of DeviceMemory that puts a plan in place at the end of an iteration, and takes it away again
// (ALGORITHMS.md, rule 5): every mapping call of a plan is made here.
#include "runtime/chunk_assignment.hpp"
#include "runtime/device_memory.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr int kTries = 4;  ///< ends of iterations: something may only be late in being freed

/// Free blocks by what they map, to be used again.
std::uint64_t hash_of(std::span<const ChunkId> chunks) {
  std::uint64_t hash = chunks.size();
  for (const ChunkId chunk : chunks) {
    hash = (hash ^ chunk) * 0x9E37'79B9'7F4A'7C15ULL;
    hash ^= hash >> 31;
  }
  return hash;
}

using BlocksByChunks = std::unordered_multimap<std::uint64_t, Block*>;

/// Takes the block that maps exactly these chunks off the list; null: there is none.
Block* take_same(BlocksByChunks& blocks, std::span<const ChunkId> chunks) {
  const auto [first, last] = blocks.equal_range(hash_of(chunks));
  for (auto candidate = first; candidate != last; ++candidate) {
    Block* block = candidate->second;
    const bool same = std::equal(block->pieces.begin(), block->pieces.end(), chunks.begin(), chunks.end(),
                                 [](const Piece& piece, ChunkId chunk) { return piece.chunk == chunk; });
    if (!same) continue;
    blocks.erase(candidate);
    return block;
  }
  return nullptr;
}

}  // namespace

void DeviceMemory::adopt_plan() {
  DevicePlan& plan = *plan_;
  std::vector<PlanHolder> holders = plan_holders();
  for (const PlanHolder& holder : holders) {
    if (holder.block->pins > 0) return;  // another thread is submitting; the next iteration's end will do
  }
  // Before anything moves into places that others reach unseen.
  next_scan_ = 0;
  look_for_hidden_pointers();
  if (!may_evict_) return;
  const std::int64_t before = store_->mappings();
  const std::vector<ChunkId> available = chunks_for_plan(holders);
  if (available.size() < plan.plan().chunk_count) {
    if (++plan.refusals < kTries) return;
    refuse_plan(plan, "what it does not know takes too much of the budget");
    counters_.plan_state = static_cast<std::int64_t>(trace::PlanState::kRefused);
    plan_.reset();
    return;
  }
  assign_homes(holders, available);
  plan.follower.set_adopted(true);
  // What the plan has in host memory leaves first: it holds chunks that others are to have.
  restore(0, true);
  wait_for_evictions();
  for (const PlanHolder& holder : holders) {
    for (std::uint32_t i = 0; i < holder.block->piece_count(); ++i) go_home(*holder.block, i);
  }
  make_planned_blocks();
  count_set_up(before);
  restore(0);
  count(counters_.plan_adoptions);
  // Times by another way tell nothing of this one.
  const bool comparable = by_route_of(plan.plan());
  counters_.plan_route = static_cast<std::int64_t>(trace::route_taken(plan.plan().route));
  counters_.plan_predicted_ns = comparable ? plan.plan().predicted_ns : 0;
  counters_.plan_bound_ns = comparable ? plan.plan().bound_ns : 0;
  counters_.plan_in_memory_ns = plan.plan().in_memory_ns;
  counters_.plan_forced_bytes = plan.plan().forced_bytes;
  plan.followed = plan.follower.counts().followed;
  plan.judge.adopted();
  iteration_timer_.restart();
  begin_iteration();
  status_.say(2, "GPU %d: following %s", ordinal_, plan.name());
}

/// Tensors of the plan that are alive, with what they live in.
std::vector<DeviceMemory::PlanHolder> DeviceMemory::plan_holders() const {
  std::vector<PlanHolder> holders;
  for (std::uint32_t tensor = 0; tensor < plan_->first_block.size(); ++tensor) {
    Block* block = block_of(*plan_, tensor);
    if (block != nullptr && block->piece_count() == plan_->plan().tensors[tensor].pieces)
      holders.push_back({block, tensor});
  }
  return holders;
}

/// Chunks that the plan may use: all but those with contents of others. More are made, and others evicted,
/// when they are too few.
std::vector<ChunkId> DeviceMemory::chunks_for_plan(std::span<const PlanHolder> holders) {
  for (const PlanHolder& holder : holders) holder.block->planned = true;
  const std::size_t needed = plan_->plan().chunk_count;
  std::vector<ChunkId> available;
  const auto collect = [&] {
    available.clear();
    for (ChunkId id = 0; id < pool_->end(); ++id) {
      const Chunk& chunk = (*pool_)[id];
      if (chunk.exists && (chunk.owner == nullptr || chunk.owner->planned)) available.push_back(id);
    }
  };
  collect();
  if (available.size() < needed && pool_->existing() < pool_->limit()) {
    grow_by(std::min(needed - available.size(), pool_->limit() - pool_->existing()));
    collect();
  }
  for (Block* block = order_.oldest(); block != nullptr && available.size() < needed;) {
    Block* next = block->newer;
    if (!block->planned && evictable(*block) && send_away(*block, {0, 0, 0, block->piece_count()})) collect();
    block = next;
  }
  for (const PlanHolder& holder : holders) holder.block->planned = false;
  return available;
}

/// Decides which device chunk each plan chunk is, and tells every piece of a living tensor its home.
void DeviceMemory::assign_homes(std::span<const PlanHolder> holders, std::span<const ChunkId> available) {
  DevicePlan& plan = *plan_;
  const std::vector<bool> away = plan.index->away_before(0);
  std::vector<HeldPiece> pieces;
  for (const PlanHolder& holder : holders) {
    const auto places = plan.index->places(holder.tensor, 0);
    const std::size_t first = plan.index->first_piece(holder.tensor);
    for (std::uint32_t i = 0; i < holder.block->piece_count(); ++i) {
      const Piece& piece = holder.block->pieces[i];
      const bool there = piece.place == Piece::Place::kOnDevice;
      pieces.push_back({places[i], piece.chunk, there && !(away[first + i] && evictable(*holder.block))});
    }
  }
  plan.chunks = assign_chunks(plan.plan().chunk_count, pieces, available);
  for (const ChunkId chunk : plan.chunks) {
    if (chunk != kNoChunk) pool_->set_planned(chunk, true);
  }
  for (const PlanHolder& holder : holders) put_in_plan(*holder.block, holder.tensor, 0);
}

/// From here on the block is the plan's for this address of the tensor.
void DeviceMemory::put_in_plan(Block& block, std::uint32_t tensor, std::uint32_t address) {
  const auto places = plan_->index->places(tensor, address);
  block.planned = true;
  block.plan_tensor = tensor;
  plan_->blocks[plan_->first_block[tensor] + address] = &block;
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    Piece& piece = block.pieces[i];
    piece.home = plan_->chunks[places[i]];
    if (piece.home != piece.chunk) plan_->displaced = true;
  }
}

void DeviceMemory::take_out_of_plan(Block& block) {
  std::replace(plan_->blocks.begin(), plan_->blocks.end(), &block, static_cast<Block*>(nullptr));
  block.planned = false;
  plan_->intruded = plan_->intruded || block.live;
  for (Piece& piece : block.pieces) piece.home = kNoChunk;
}

/// Makes a piece's address map its home, where the home is nobody's: contents on the device leave for host
/// memory before. True when it does, or audit mode has its trap there for the time being.
bool DeviceMemory::go_home(Block& block, std::uint32_t index) {
  Piece& piece = block.pieces[index];
  if (piece.home == kNoChunk || piece.home == piece.chunk) return true;
  if ((*pool_)[piece.home].owner != nullptr) return false;
  if (piece.place == Piece::Place::kOnDevice && !send_away(block, {0, 0, index, 1})) return false;
  if (audit_ != nullptr && piece.place == Piece::Place::kParked) return true;
  wait_for_users(block);
  return remap(block, index, piece.home);
}

/// Nobody evicts while addresses are mapped: beside the copy engine out each mapping call takes a
/// millisecond (FACTS.md).
void DeviceMemory::wait_for_evictions() {
  if (last_out_ && !streams_.done(*last_out_)) streams_.wait_on_host(*last_out_);
}

/// Blocks for all addresses of the plan that nothing lives at, over the chunks that it has for them. Free
/// blocks that map the same already are taken.
void DeviceMemory::make_planned_blocks() {
  DevicePlan& plan = *plan_;
  BlocksByChunks known;
  store_->for_each([&](Block& block) {
    if (block.live || block.planned) return;
    std::vector<ChunkId> mapped;
    for (const Piece& piece : block.pieces) mapped.push_back(piece.chunk);
    known.emplace(hash_of(mapped), &block);
  });
  for (std::uint32_t tensor = 0; tensor < plan.first_block.size(); ++tensor) {
    const trace::FlatPlan::Tensor& entry = plan.plan().tensors[tensor];
    const bool gated = static_cast<std::size_t>(entry.bytes) > arena_->largest();
    for (std::uint32_t address = 0; address < entry.addresses && entry.persistent == 0 && gated; ++address) {
      if (plan.blocks[plan.first_block[tensor] + address] != nullptr) continue;
      std::vector<ChunkId> chunks;
      for (const std::uint32_t place : plan.index->places(tensor, address)) {
        if (plan.chunks[place] != kNoChunk) chunks.push_back(plan.chunks[place]);
      }
      if (chunks.size() < entry.pieces) continue;
      Block* block = take_same(known, chunks);
      if (block != nullptr) store_->remove_free(*block);
      if (block == nullptr) block = store_->make(chunks);
      if (block != nullptr) put_in_plan(*block, tensor, address);
    }
  }
}

/// At the end of an iteration: what surprises did to the plan's places is undone where that is possible.
void DeviceMemory::put_back() {
  const std::int64_t before = store_->mappings();
  if (renew_places()) make_planned_blocks();
  drive_out();
  const auto returning = displaced_pieces();
  for (const auto& [block, piece] : returning) {
    if (block->pieces[piece].place == Piece::Place::kOnDevice) send_away(*block, {0, 0, piece, 1});
  }
  if (!returning.empty()) wait_for_evictions();
  for (const auto& [block, piece] : returning) {
    if (!go_home(*block, piece)) plan_->displaced = true;
  }
  count_set_up(before);
  if (!returning.empty()) restore(0, false);
}

/// An allocation that took a persistent tensor's place gets that tensor's chunks, and one that has outlived
/// its tensor's next instance is no longer the plan's. True when addresses lost their blocks by that.
bool DeviceMemory::renew_places() {
  DevicePlan& plan = *plan_;
  bool emptied = false;
  for (std::uint32_t tensor = 0; tensor < plan.first_block.size(); ++tensor) {
    const trace::FlatPlan::Tensor& entry = plan.plan().tensors[tensor];
    Block* placed = plan.blocks[plan.first_block[tensor]];
    if (entry.persistent == 0) {
      if (entry.addresses > 1 || placed == nullptr || !placed->live ||
          plan.follower.bindings().tensor_at(placed->address) == tensor)
        continue;
      take_out_of_plan(*placed);
      emptied = true;
      continue;
    }
    Block* block = block_of(plan, tensor);
    if (block == nullptr || block == placed || block->piece_count() != entry.pieces) continue;
    if (placed != nullptr) take_out_of_plan(*placed);
    if (block->planned) take_out_of_plan(*block);  // it was taken for another tensor's allocation
    emptied = true;
    put_in_plan(*block, tensor, 0);
  }
  return emptied;
}

/// Contents that are not the plan's leave its chunks; they come back beside them, if there is room.
void DeviceMemory::drive_out() {
  if (!std::exchange(plan_->intruded, false)) return;
  store_->for_each([&](Block& block) {
    if (block.planned || !evictable(block)) return;
    leaving_.clear();
    for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
      const Piece& piece = block.pieces[i];
      if (piece.place == Piece::Place::kOnDevice && (*pool_)[piece.chunk].planned) leaving_.push_back(i);
    }
    evict(block, leaving_);
  });
}

/// Pieces that are not at home and can go there now: their home is nobody's, or that of another one of them.
std::vector<std::pair<Block*, std::uint32_t>> DeviceMemory::displaced_pieces() {
  std::vector<std::pair<Block*, std::uint32_t>> pieces;
  if (!std::exchange(plan_->displaced, false)) return pieces;
  std::vector<bool> leaving(pool_->end(), false);
  std::size_t displaced = 0;
  for (Block* block : plan_->blocks) {
    for (std::uint32_t i = 0; block != nullptr && i < block->piece_count(); ++i) {
      const Piece& piece = block->pieces[i];
      if (piece.home == kNoChunk || piece.home == piece.chunk) continue;
      // A trapped one goes home when it is fetched.
      if (audit_ != nullptr && piece.place == Piece::Place::kParked) continue;
      ++displaced;
      const bool there = piece.place == Piece::Place::kOnDevice;
      if (block->pins > 0 || (there && !evictable(*block))) continue;
      if (there) leaving[piece.chunk] = true;
      pieces.emplace_back(block, i);
    }
  }
  std::erase_if(pieces, [&](const auto& entry) {
    const ChunkId home = entry.first->pieces[entry.second].home;
    return (*pool_)[home].owner != nullptr && !leaving[home];
  });
  plan_->displaced = pieces.size() < displaced;  // the others may at the end of the next iteration
  return pieces;
}

/// Everything is as without a plan again; nothing is moved or mapped for it.
void DeviceMemory::leave_plan() {
  if (plan_ == nullptr || !plan_->follower.adopted()) return;
  account_iteration();
  for (Block* block : std::vector<Block*>(plan_->blocks)) {
    if (block == nullptr) continue;
    take_out_of_plan(*block);
    if (!block->live) store_->add_free(*block);
  }
  for (const ChunkId chunk : plan_->chunks) {
    if (chunk != kNoChunk) pool_->set_planned(chunk, false);
  }
  plan_->chunks.clear();
  plan_->displaced = plan_->intruded = false;
  plan_->follower.set_adopted(false);
  plan_->judge.left();
  iteration_timer_.restart();
  note_plan_state();
}

}  // namespace tferry::runtime
