// The part of DeviceMemory that moves pieces between the device and host memory.
#include "runtime/device_memory.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime {
namespace {

using trace::ResidentReason;

constexpr std::size_t kCopyBytes = std::size_t{16}
                                   << 20;  ///< of one submitted copy at most: 54 of 55 GB/s (FACTS.md)
constexpr std::uint64_t kRecentOperations =
    128;                                ///< what was used since is not parked while other room can be had
constexpr Sequence kMarkInterval = 16;  ///< operations between the events recorded in a stream
constexpr std::size_t kLeastEviction = std::size_t{8} << 20;

/// Calls `copy(first, count)` for the longest runs of pieces in which device aliases and host slots are
/// neighbours.
template <class Neighbours, class Copy>
bool for_each_run(std::span<const std::uint32_t> pieces, std::size_t most, Neighbours neighbours, Copy copy) {
  for (std::size_t at = 0; at < pieces.size();) {
    std::size_t end = at + 1;
    while (end < pieces.size() && end - at < most && neighbours(pieces[end - 1], pieces[end])) ++end;
    if (!copy(at, end - at)) return false;
    at = end;
  }
  return true;
}

}  // namespace

void DeviceMemory::open_detour() {
  took_route(trace::CopyRoute::Way::kDirect);
  if (!may_evict_ || config_.route.way == trace::CopyRoute::Way::kDirect) return;
  std::string why;
  detour_ = NeighbourLink::open(driver_, device_, config_.route, why);
  if (!detour_) {
    status_.say(0, "GPU %d: copies go by its own link: %s", ordinal_, why.c_str());
    return;
  }
  took_route(detour_->way());
  status_.say(1, "GPU %d: copies go by the link of GPU %d%s", ordinal_, detour_->via(),
              detour_->way() == trace::CopyRoute::Way::kBoth ? " as well as by its own" : "");
}

void DeviceMemory::neighbour_ended(CUdevice neighbour) {
  if (detour_ && detour_->via() == neighbour) close_detour();
}

/// Says once that the detour was given up.
void DeviceMemory::note_detour() {
  if (!detour_ || !detour_->broken()) return;
  status_.say(0,
              "GPU %d: the driver refused a copy by the link of GPU %d; from here on all go by its own link",
              ordinal_, detour_->via());
  close_detour();
}

void DeviceMemory::close_detour() {
  detour_.reset();
  counters_.route = static_cast<std::int64_t>(trace::RouteTaken::kLeft);
}

void DeviceMemory::took_route(trace::CopyRoute::Way way) {
  counters_.route = static_cast<std::int64_t>(trace::route_taken(way));
}

/// Whether copies go by the way that the plan's prediction is for, and always did.
bool DeviceMemory::by_route_of(const trace::FlatPlan& plan) const {
  return counters_.route == static_cast<std::int64_t>(trace::route_taken(plan.route));
}

CUresult DeviceMemory::move_in(CUdeviceptr target, const void* source, std::size_t bytes) {
  if (!detour_) return driver_.cuMemcpyHtoDAsync_v2(target, source, bytes, in_handle_);
  const CUresult result = detour_->copy_in(target, source, bytes, in_handle_);
  note_detour();
  return result;
}

CUresult DeviceMemory::move_out(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  if (!detour_) return driver_.cuMemcpyDtoHAsync_v2(target, source, bytes, stream);
  const CUresult result = detour_->copy_out(target, source, bytes, stream);
  note_detour();
  return result;
}

/// A copy by a detour is twice as large: each begins when the one before has crossed both links.
std::size_t DeviceMemory::most_pieces_of_a_copy() const {
  return std::max<std::size_t>((detour_ ? 2 : 1) * kCopyBytes / chunk_size(), 1);
}

bool DeviceMemory::evictable(const Block& block) const {
  return may_evict_ && block.live && block.movable() && block.pins == 0 && !block.arena;
}

CUresult DeviceMemory::acquire(Operation& operation, std::span<Block* const> blocks) {
  for (Block* block : blocks) ++block->pins;
  for (Block* block : blocks) {
    if (block->parked == 0) continue;
    count_late(operation, *block);
    if (bring_in(operation, *block)) continue;
    for (Block* pinned : blocks) --pinned->pins;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  for (Block* block : blocks) {
    if (operation.capturing) {
      keep_resident(*block, ResidentReason::kCaptured);
    } else if (!block->pending.empty()) {
      operation.waited |= streams_.wait(operation.stream, block->pending);
    }
  }
  if (swapping_ && config_.policy == Policy::kLms && !following()) keep_room_ahead(operation);
  return CUDA_SUCCESS;
}

void DeviceMemory::release(std::span<Block* const> blocks, const Operation& operation, const Moment* moment) {
  ++tick_;
  for (Block* block : blocks) {
    --block->pins;
    // A stale address may have named what another thread was about to free.
    if (moment == nullptr || operation.capturing || !block->live) continue;
    block->uses.add(*moment);
    block->last_use = tick_;
    if (operation.is_launch && block->resident_reason == ResidentReason::kNeverNamed &&
        block->pieces.size() * chunk_size() >= movable_size_) {
      set_reason(*block, ResidentReason::kCount);
    }
    if (block->movable()) order_.touch(*block);
  }
  if (swapping_ && moment != nullptr) streams_.mark_every(operation.stream, kMarkInterval);
}

bool DeviceMemory::bring_in(Operation& operation, Block& block) {
  if (block.parked == 0) return true;
  // Before any piece has a chunk: the search may itself bring this block in.
  if (!settling_) look_for_hidden_pointers();
  if (block.parked == 0) return true;
  bool settled = true;
  settling_ = true;
  std::vector<std::uint32_t> arriving;
  arriving.reserve(block.parked);
  for (std::uint32_t i = 0; i < block.piece_count() && settled; ++i) {
    if (block.pieces[i].place != Piece::Place::kParked) continue;
    settled = settle_piece(operation, block, i);
    if (settled) arriving.push_back(i);
  }
  settling_ = false;
  operation.fetched += static_cast<std::int64_t>(arriving.size() * chunk_size());
  operation.waited = true;
  return submit_fetch(block, arriving) && settled;
}

/// Gives a parked piece a chunk to come back into, best the one that a plan has for it, or that its address
/// still maps and no plan has for others.
bool DeviceMemory::settle_piece(Operation& operation, Block& block, std::uint32_t index) {
  Piece& piece = block.pieces[index];
  const ChunkId wanted = piece.home != kNoChunk ? piece.home : piece.chunk;
  const bool intrudes = wanted != kNoChunk && piece.home == kNoChunk && (*pool_)[wanted].planned &&
                        pool_->unplanned_free_count() > 0;
  if (wanted != kNoChunk && !intrudes) {
    const Chunk& mapped = (*pool_)[wanted];
    if (mapped.owner != nullptr && evictable(*mapped.owner) &&
        (pool_->free_count() == 0 || mapped.owner->last_use + kRecentOperations < tick_)) {
      const std::uint32_t part = mapped.piece;
      if (evict(*mapped.owner, {&part, 1})) operation.parked += static_cast<std::int64_t>(chunk_size());
    }
    if (mapped.owner == nullptr) {
      if (wanted != piece.chunk) return settle_in(block, index, wanted);
      --(*pool_)[piece.chunk].claims;
      pool_->set_owner(piece.chunk, &block, index);
      note_intruder(block, piece.chunk);
      return true;
    }
  }
  if (pool_->free_count() == 0 && !make_room(1, operation.parked)) return false;
  return settle_in(block, index, pool_->pick_free(1, swapping_).front());
}

/// Gives a parked piece this free chunk by a mapping call.
bool DeviceMemory::settle_in(Block& block, std::uint32_t index, ChunkId chunk) {
  Piece& piece = block.pieces[index];
  wait_for_users(block);
  const std::int64_t begin = StatusPage::now_ns();
  if (!remap(block, index, chunk)) return false;
  --(*pool_)[chunk].claims;
  pool_->set_owner(chunk, &block, index);
  note_intruder(block, chunk);
  if (piece.home != kNoChunk && piece.home != chunk && plan_ != nullptr) plan_->displaced = true;
  count(counters_.remaps);
  count(counters_.remap_ns, StatusPage::now_ns() - begin);
  counters_.mappings = store_->mappings();
  return true;
}

/// Maps another chunk at a piece that is parked or free.
bool DeviceMemory::remap(Block& block, std::uint32_t index, ChunkId chunk) {
  Piece& piece = block.pieces[index];
  const ChunkId before = piece.chunk;
  const bool parked = piece.place == Piece::Place::kParked;
  const bool done = store_->remap(block, index, chunk);
  if (parked && before != kNoChunk && piece.chunk != before) --(*pool_)[before].claims;
  if (parked && done) ++(*pool_)[chunk].claims;
  return done;
}

/// The old mapping may still be read: a mapping call would pull it away under a kernel.
void DeviceMemory::wait_for_users(const Block& block) {
  const std::int64_t begin = StatusPage::now_ns();
  for (const Moments* moments : {&block.uses, &block.pending})
    count(counters_.host_waits, streams_.wait_on_host(*moments));
  count(counters_.host_wait_ns, StatusPage::now_ns() - begin);
}

bool DeviceMemory::make_room(std::size_t chunks, std::int64_t& parked_bytes) {
  if (pool_->free_count() >= chunks) return true;
  if (pool_->existing() < pool_->limit()) {
    grow_by(std::min(chunks - pool_->free_count(), pool_->limit() - pool_->existing()));
  }
  if (!may_evict_) return pool_->free_count() >= chunks;
  if (!settling_) look_for_hidden_pointers();
  if (config_.coordination == Coordination::kInterleave && !planned()) {
    // What is this rank's to move goes first, as long as it was not used just now: neighbours, which run the
    // same program, then move other tensors. Allocations have the same numbers in all of them.
    const auto ranks = static_cast<std::uint64_t>(config_.local_ranks);
    const auto own = static_cast<std::uint64_t>(std::max(config_.local_rank, 0)) % ranks;
    for (Block* block = order_.oldest();
         block != nullptr && pool_->free_count() < chunks && block->last_use + kRecentOperations < tick_;) {
      Block* next = block->newer;
      if (block->buffer_id % kBuffersOfDevice % ranks == own && evictable(*block) &&
          !park_some(*block, chunks, parked_bytes))
        return false;
      block = next;
    }
  }
  for (Block* block = order_.oldest(); block != nullptr && pool_->free_count() < chunks;) {
    Block* next = block->newer;
    if (evictable(*block) && !park_some(*block, chunks, parked_bytes)) return false;
    block = next;
  }
  return pool_->free_count() >= chunks;
}

/// Parks pieces of a block until so many chunks are free, or a little more. False: host memory cannot hold
/// them.
bool DeviceMemory::park_some(Block& block, std::size_t chunks, std::int64_t& parked_bytes) {
  const std::size_t least = config_.policy == Policy::kLms ? kLeastEviction / chunk_size() : 1;
  const std::size_t lacking = std::max(chunks - pool_->free_count(), least);
  std::vector<std::uint32_t> leaving;
  for (std::uint32_t i = 0; i < block.piece_count() && leaving.size() < lacking; ++i) {
    if (block.pieces[i].place == Piece::Place::kOnDevice) leaving.push_back(i);
  }
  if (!evict(block, leaving)) {
    // Host memory may hold no more than what has to leave.
    leaving.resize(std::min(leaving.size(), chunks - pool_->free_count()));
    if (!evict(block, leaving)) return false;
  }
  parked_bytes += static_cast<std::int64_t>(leaving.size() * chunk_size());
  return true;
}

/// Parks what no plan knows and nobody used for long, until so many chunks beside a plan's are free.
void DeviceMemory::park_idle(std::size_t chunks) {
  for (Block* block = order_.oldest(); block != nullptr && pool_->unplanned_free_count() < chunks &&
                                       block->last_use + kRecentOperations < tick_;) {
    Block* next = block->newer;
    if (!block->planned) send_away(*block, {0, 0, 0, block->piece_count()});
    block = next;
  }
}

/// Early page-out: once the job swaps, what is oldest leaves before its room is asked for, so that a fetch or
/// an allocation finds free chunks. Nothing used recently leaves this way.
void DeviceMemory::keep_room_ahead(Operation& operation) {
  if (pool_->free_count() >= headroom_) return;
  const Block* oldest = order_.oldest();
  if (oldest == nullptr || oldest->last_use + kRecentOperations >= tick_) return;
  make_room(std::min(headroom_, pool_->free_count() + kCopyBytes / chunk_size()), operation.parked);
}

/// What had to leave after these uses in an earlier iteration leaves after them now.
void DeviceMemory::reclaim_again(const Operation& operation) {
  for (std::size_t i = 0; i < operation.blocks.size(); ++i) {
    Block& block = *operation.blocks[i];
    if (block.device != ordinal_ || !block.live) continue;
    const std::uint64_t use = reclaim_->use(i);
    const std::size_t pieces = reclaim_->pieces_after(use);
    block.repeated_use = ReclaimMemory::kUnknown;  // what leaves now was not reclaimed
    leaving_.clear();
    for (std::uint32_t k = 0; k < block.piece_count() && leaving_.size() < pieces; ++k) {
      if (block.pieces[k].place == Piece::Place::kOnDevice) leaving_.push_back(k);
    }
    ahead_ = true;
    if (evictable(block)) evict(block, leaving_);
    ahead_ = false;
    block.repeated_use = use;
  }
}

bool DeviceMemory::evict(Block& block, std::span<const std::uint32_t> pieces) {
  if (pieces.empty()) return true;
  swapping_ = true;
  SlotId last = kNoSlot;
  for (std::size_t taken = 0; taken < pieces.size(); ++taken) {
    Piece& piece = block.pieces[pieces[taken]];
    piece.slot = last = host_->take(last);
    if (last != kNoSlot) continue;
    for (std::size_t i = 0; i < taken; ++i)
      host_->give_back(std::exchange(block.pieces[pieces[i]].slot, kNoSlot));
    return false;
  }
  const std::size_t size = chunk_size();
  bool copied = false;
  {
    SlotPass pass(gates_ ? &gates_->out : nullptr, config_.slot_bytes, 0);
    if (pass.gated()) {  // a turn is asked for once all of it is ready
      for (const std::uint32_t index : pieces)
        streams_.wait(out_[0].stream, (*host_)[block.pieces[index].slot].free_after);
    }
    copied = for_each_run(
        pieces, most_pieces_of_a_copy(),
        [&](std::uint32_t a, std::uint32_t b) {
          return block.pieces[b].chunk == block.pieces[a].chunk + 1 &&
                 host_->neighbours(block.pieces[a].slot, block.pieces[b].slot);
        },
        [&](std::size_t first, std::size_t run) {
          return copy_out(block, pieces.subspan(first, run), pass);
        });
  }
  if (!copied) {  // a sticky error: the program hears it from its own next call
    for (const std::uint32_t index : pieces) {
      const SlotId slot = std::exchange(block.pieces[index].slot, kNoSlot);
      if (last_out_) (*host_)[slot].free_after.add(*last_out_);
      host_->give_back(slot);
    }
    return false;
  }
  for (const std::uint32_t index : pieces) {
    Piece& piece = block.pieces[index];
    ++(*pool_)[piece.chunk].claims;
    pool_->clear_owner(piece.chunk);
    piece.place = Piece::Place::kParked;
  }
  block.parked += static_cast<std::uint32_t>(pieces.size());
  if (reclaim_) reclaim_->reclaimed(block.repeated_use, pieces.size());
  if (block.parked == block.piece_count()) order_.remove(block);
  const auto bytes = static_cast<std::int64_t>(pieces.size() * size);
  count(counters_.bytes_out, bytes);
  count(counters_.parked, bytes);
  raise_to(counters_.parked_peak, counters_.parked.load(std::memory_order_relaxed));
  counters_.host_slabs = static_cast<std::int64_t>(host_->held_bytes());
  if (audit_) audit_->on_parked(block, pieces, *store_, *host_, streams_, *last_out_);
  return true;
}

/// One copy to the host, of pieces whose chunks and slots are neighbours, behind the last use of the block
/// and the eviction before.
bool DeviceMemory::copy_out(Block& block, std::span<const std::uint32_t> pieces, SlotPass& pass) {
  OutLane& lane = out_[pass.gated() ? 0 : out_turn_];
  streams_.wait(lane.stream, block.uses);
  streams_.wait(lane.stream, block.pending);
  for (const std::uint32_t index : pieces)
    streams_.wait(lane.stream, (*host_)[block.pieces[index].slot].free_after);
  if (last_out_) streams_.wait(lane.stream, *last_out_);
  const Piece& piece = block.pieces[pieces.front()];
  const std::size_t bytes = pieces.size() * chunk_size();
  pass.before_copy(lane.handle, bytes);
  const SubmittedCopy noted = before_copy(lane.handle);
  if (move_out((*host_)[piece.slot].address, pool_->alias(piece.chunk), bytes, lane.handle) != CUDA_SUCCESS) {
    return false;
  }
  count(counters_.evictions);
  note_copy(trace::TransferKind::kPark, block, pieces, lane.handle, lane.stream, lane.copies, noted);
  ++lane.copies;
  if (!pass.gated()) out_turn_ = (out_turn_ + 1) % out_.size();
  last_out_ = streams_.stamp(lane.stream);
  streams_.mark(lane.stream);
  for (const std::uint32_t index : pieces) {
    for (Moments* after :
         {&(*host_)[block.pieces[index].slot].free_after, &(*pool_)[block.pieces[index].chunk].free_after}) {
      after->clear();
      after->add(*last_out_);
    }
  }
  return true;
}

bool DeviceMemory::submit_fetch(Block& block, std::span<const std::uint32_t> pieces) {
  if (pieces.empty()) return true;
  if (audit_) audit_->before_fetch(block, pieces, *host_, streams_);
  for (const std::uint32_t index : pieces) {
    streams_.wait(in_, (*pool_)[block.pieces[index].chunk].free_after);
    streams_.wait(in_, (*host_)[block.pieces[index].slot].free_after);
  }
  const std::size_t size = chunk_size();
  std::optional<SlotPass> pass;
  pass.emplace(gates_ ? &gates_->in : nullptr, config_.slot_bytes, fetch_slack_);
  const bool copied = for_each_run(
      pieces, most_pieces_of_a_copy(),
      [&](std::uint32_t a, std::uint32_t b) {
        return block.pieces[b].chunk == block.pieces[a].chunk + 1 &&
               host_->neighbours(block.pieces[a].slot, block.pieces[b].slot);
      },
      [&](std::size_t first, std::size_t run) {
        const Piece& piece = block.pieces[pieces[first]];
        pass->before_copy(in_handle_, run * size);
        const SubmittedCopy noted = before_copy(in_handle_);
        if (move_in(pool_->alias(piece.chunk), (*host_)[piece.slot].address, run * size) != CUDA_SUCCESS) {
          return false;
        }
        count(counters_.fetches);
        note_copy(trace::TransferKind::kFetch, block, pieces.subspan(first, run), in_handle_, in_, copies_in_,
                  noted);
        ++copies_in_;
        return true;
      });
  const Moment moment = streams_.stamp(in_);
  streams_.mark(in_);
  pass.reset();
  if (!copied) {  // what has not come back stays parked, and the program hears of it
    for (const std::uint32_t index : pieces) {
      Chunk& chunk = (*pool_)[block.pieces[index].chunk];
      pool_->clear_owner(block.pieces[index].chunk);
      ++chunk.claims;
      chunk.free_after.add(moment);
      (*host_)[block.pieces[index].slot].free_after.add(moment);
    }
    return false;
  }
  for (const std::uint32_t index : pieces) {
    Piece& piece = block.pieces[index];
    Moments& slot_after = (*host_)[piece.slot].free_after;
    slot_after.clear();
    slot_after.add(moment);
    host_->give_back(std::exchange(piece.slot, kNoSlot));
    piece.place = Piece::Place::kOnDevice;
  }
  block.parked -= static_cast<std::uint32_t>(pieces.size());
  block.pending.remove_if([this](Moment known) { return streams_.known_done(known); });
  block.pending.add(moment);
  const auto bytes = static_cast<std::int64_t>(pieces.size() * size);
  count(counters_.bytes_in, bytes);
  count(counters_.parked, -bytes);
  if (audit_) audit_->after_fetch(block, pieces, streams_, moment);
  return true;
}

bool DeviceMemory::stop_moving(const char* why) {
  if (!may_evict_) return true;
  status_.say(1, "GPU %d: %s; from here on nothing is moved", ordinal_, why);
  leave_plan();
  plan_.reset();
  later_plan_.reset();
  plans_ = nullptr;
  Operation operation;
  std::vector<Block*> returned;
  bool all = true;
  store_->for_each([&](Block& block) {
    if (!block.live || block.parked == 0) return;
    ++block.pins;  // what has come back must not leave again for the next one
    returned.push_back(&block);
    all = bring_in(operation, block) && all;
  });
  for (Block* block : returned) {
    --block->pins;
    for (const Moment& moment : block->pending) streams_.wait_on_host(moment);
  }
  if (all) may_evict_ = false;
  return all;
}

/// The search of ALGORITHMS.md, rule 2: when eviction first begins, and again at doubling intervals, because
/// programs build their pointer tables early. What stands in live memory is kept on the device until it is
/// freed.
void DeviceMemory::look_for_hidden_pointers() {
  if (tick_ < next_scan_) return;
  next_scan_ = std::max<std::uint64_t>(tick_ * 2, 256);
  const std::int64_t begin = StatusPage::now_ns();
  Moments tails;
  streams_.add_tails(tails);
  tails.add(streams_.tail(in_));
  streams_.wait(scan_stream_, tails);
  std::vector<PointerScan::Region> regions;
  for (ChunkId id = 0; id < pool_->end(); ++id) {
    const Chunk& chunk = (*pool_)[id];
    if (!chunk.exists || chunk.owner == nullptr) continue;
    const CUdeviceptr alias = pool_->alias(id);
    if (!regions.empty() && regions.back().begin + regions.back().bytes == alias) {
      regions.back().bytes += chunk_size();
    } else {
      regions.push_back({alias, chunk_size()});
    }
  }
  const auto hits =
      scan_->find_pages(regions, {store_->begin(), store_->high_water()}, chunk_size(), scan_handle_);
  for (const CUdeviceptr page : hits.pages) {
    Block* block = find_gated(page);
    if (block != nullptr && (block->movable() || block->resident_reason == ResidentReason::kNeverNamed)) {
      const bool was_parked = block->parked > 0;
      if (keep_resident(*block, ResidentReason::kPointedTo) != CUDA_SUCCESS) {
        status_.say(
            0,
            "GPU %d: %zu bytes whose address stands in device memory do not fit the card; a kernel that "
            "follows it finds other contents there. Give the job a larger --budget.",
            ordinal_, block->requested);
      }
      // Whoever follows the pointer does not name the block, and so does not wait for its fetch.
      for (const Moment& moment : block->pending) {
        if (was_parked) streams_.wait_on_host(moment);
      }
    }
  }
  if (!hits.complete) {
    status_.say(0, "GPU %d: device memory could not be searched for pointers, so nothing is moved: %s",
                ordinal_, hits.error.c_str());
    may_evict_ = false;
  }
  count(counters_.scans);
  count(counters_.scan_ns, StatusPage::now_ns() - begin);
}

}  // namespace tferry::runtime
