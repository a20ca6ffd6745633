#include "runtime/device_memory.hpp"

#include "runtime/capture_guard.hpp"
#include "trace/chunk_size.hpp"

#include <algorithm>

namespace tferry::runtime {
namespace {

using trace::ResidentReason;

constexpr std::size_t kDefaultReserve = std::size_t{1} << 30;
constexpr std::size_t kMappedPerHeld =
    6;  ///< address mappings kept per byte held, before old ones are given up
constexpr Sequence kReuseInterval = 16;  ///< operations between events, where small memory is freed
constexpr std::size_t kCandidates = 24;  ///< free blocks of a size that are looked at

}  // namespace

DeviceMemory::DeviceMemory(Environment environment, int ordinal, CUdevice device, CUcontext context)
    : driver_(environment.driver),
      config_(environment.config),
      status_(environment.status),
      counters_(environment.status.device(ordinal)),
      streams_(environment.streams),
      recorder_(environment.recorder),
      plans_(environment.plans),
      coordinator_(environment.coordinator),
      watch_(environment.watch),
      ordinal_(ordinal),
      device_(device),
      context_(context),
      iteration_timer_(environment.driver) {}

DeviceMemory::~DeviceMemory() {
  if (gates_) coordinator_->detach(ordinal_);
  if (host_) host_->stop();
  if (!store_) return;
  store_->for_each([this](Block& block) {
    for (std::uint32_t i = 0; i < block.piece_count(); ++i) store_->remap(block, i, kNoChunk);
  });
  for (ChunkId id = 0; id < pool_->end(); ++id) {
    if ((*pool_)[id].exists) pool_->destroy(id);
  }
  for (auto* counter : {&counters_.allocated, &counters_.resident, &counters_.parked, &counters_.host_slabs})
    *counter = 0;
  for (auto& counter : counters_.resident_count) counter = 0;
  for (auto& counter : counters_.resident_bytes) counter = 0;
}

bool DeviceMemory::open(AddressSpace& space, int devices) {
  std::size_t card_free = 0;
  std::size_t card_total = 0;
  if (driver_.cuMemGetInfo_v2(&card_free, &card_total) != CUDA_SUCCESS) return false;
  const BudgetRule rule = config_.budget_for(ordinal_);
  const std::size_t reserve =
      config_.reserve != 0 ? config_.reserve : std::max(kDefaultReserve, card_total / 100);
  std::size_t budget = 0;
  switch (rule.source) {
    case trace::BudgetSource::kAuto:
      budget = card_free - std::min(card_free, reserve);
      break;
    case trace::BudgetSource::kBytes:
    case trace::BudgetSource::kPercent:
      budget = rule.fixed(card_total);
      break;
    case trace::BudgetSource::kUnlimited:
      budget = card_total;
      may_evict_ = false;
      break;
  }
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device_}};
  std::size_t granularity = 0;
  if (driver_.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) !=
      CUDA_SUCCESS) {
    return false;
  }
  std::string plan_error;
  const auto plan = plans_ != nullptr ? plans_->first(plan_error) : nullptr;
  if (!plan_error.empty())
    status_.say(0, "GPU %d: %s. The job runs on without it.", ordinal_, plan_error.c_str());
  const std::size_t wanted = plan != nullptr           ? plan->plan().chunk_bytes
                             : config_.chunk_size != 0 ? config_.chunk_size
                                                       : trace::MemoryRules::for_budget(budget).chunk;
  const trace::MemoryRules rules = trace::MemoryRules::with_chunk(std::max(granularity, wanted));
  const std::size_t chunk = rules.chunk;
  const std::size_t most = std::max(budget, card_total) / chunk + 1;
  if (!space.reserved() && !space.reserve(driver_, devices, chunk)) return false;
  pool_ = std::make_unique<ChunkPool>(driver_, device_, chunk, most);
  pool_->set_limit(budget / chunk);
  if (!pool_->open()) return false;
  store_ = std::make_unique<BlockStore>(*pool_, space.range_of(ordinal_), ordinal_);
  if (!store_->open()) return false;
  if (driver_.cuStreamCreate(&in_handle_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
      driver_.cuStreamCreate(&out_[0].handle, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
      driver_.cuStreamCreate(&out_[1].handle, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS ||
      driver_.cuStreamCreate(&scan_handle_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
    return false;
  }
  in_ = streams_.add_internal(in_handle_, context_);
  for (OutLane& lane : out_) lane.stream = streams_.add_internal(lane.handle, context_);
  scan_stream_ = streams_.add_internal(scan_handle_, context_);
  open_detour();
  if (coordinator_ != nullptr && may_evict_) {
    const bool elsewhere = detour_ && detour_->way() == trace::CopyRoute::Way::kNeighbour;
    gates_ = coordinator_->attach(ordinal_, elsewhere ? detour_->via() : device_);
  }
  next_buffer_id_ = static_cast<std::uint64_t>(ordinal_) * kBuffersOfDevice + 1;
  if (recorder_ != nullptr) {
    recorder_->device(driver_, ordinal_, static_cast<std::int64_t>(card_total));
    recorder_->own_stream(in_handle_, ordinal_);
    for (const OutLane& lane : out_) recorder_->own_stream(lane.handle, ordinal_);
    recorder_->own_stream(scan_handle_, ordinal_);
  }
  const std::size_t host = config_.host_budget != 0 ? config_.host_budget : available_host_memory() / 20 * 17;
  host_ = std::make_unique<HostPool>(driver_, context_, chunk, host);
  movable_size_ = config_.movable_size != 0 ? std::max(chunk, config_.movable_size) : rules.movable;
  arena_ = std::make_unique<SmallArena>(
      SmallArena::Source{[this](std::size_t bytes) {
                           Block* block = find_place((bytes + chunk_size() - 1) / chunk_size());
                           if (block == nullptr) return CUdeviceptr{0};
                           activate(*block);
                           // Nobody waits for a small allocation, so its memory has to be idle.
                           count(counters_.host_waits, streams_.wait_on_host(block->pending));
                           block->arena = true;
                           set_reason(*block, ResidentReason::kSmall);
                           return block->address;
                         },
                         [this](const Moments& after) { return streams_.reusable(after); },
                         [this](const Moments& after) { return wait_for_reuse(after); }},
      chunk);
  if (config_.policy == Policy::kLmsEarly) reclaim_ = std::make_unique<ReclaimMemory>();
  if (plan != nullptr) take_plan(plan);
  scan_ = std::make_unique<PointerScan>(driver_);
  if (config_.verify) {
    audit_ = std::make_unique<Audit>(driver_, *pool_, status_, counters_);
    audit_->set_trap();
  }

  counters_.budget = static_cast<std::int64_t>(budget);
  counters_.budget_source = static_cast<std::int64_t>(rule.source);
  counters_.card_total = static_cast<std::int64_t>(card_total);
  counters_.card_free = static_cast<std::int64_t>(card_free);
  counters_.chunk_size = static_cast<std::int64_t>(chunk);
  return true;
}

/// Nobody waits in a capture: what it waits for might be what is being captured.
bool DeviceMemory::wait_for_reuse(const Moments& after) {
  if (g_capturing.load(std::memory_order_relaxed) > 0) return false;
  const std::int64_t begin = StatusPage::now_ns();
  count(counters_.host_waits, streams_.wait_on_host(after));
  count(counters_.host_wait_ns, StatusPage::now_ns() - begin);
  return true;
}

void DeviceMemory::account(std::int64_t bytes) {
  allocated_ = static_cast<std::size_t>(static_cast<std::int64_t>(allocated_) + bytes);
  allocated_peak_ = std::max(allocated_peak_, allocated_);
  counters_.allocated = static_cast<std::int64_t>(allocated_);
  counters_.allocated_peak = static_cast<std::int64_t>(allocated_peak_);
}

void DeviceMemory::set_reason(Block& block, ResidentReason reason) {
  const auto size = static_cast<std::int64_t>(block.pieces.size() * chunk_size());
  const auto count_as = [&](ResidentReason which, std::int64_t sign) {
    if (which == ResidentReason::kCount) return;
    count(counters_.resident_count[static_cast<int>(which)], sign);
    count(counters_.resident_bytes[static_cast<int>(which)], sign * size);
  };
  if (block.live) count_as(block.resident_reason, -1);
  block.resident_reason = reason;
  count_as(reason, 1);
  if (reason != ResidentReason::kCount) order_.remove(block);
}

CUresult DeviceMemory::allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  count(counters_.allocations);
  if (bytes <= arena_->largest()) {
    if (const auto small = arena_->allocate(bytes, next_buffer_id_, stream_ordered)) {
      ++next_buffer_id_;
      account(static_cast<std::int64_t>(small->size));
      *address = small->address;
      if (recorder_ != nullptr) {
        recorder_->allocation(small->buffer_id, small->address, bytes, small->size, ordinal_, stream_ordered,
                              false, g_capturing.load(std::memory_order_relaxed) > 0);
      }
      return CUDA_SUCCESS;
    }
    count(counters_.out_of_memory);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  // All of an allocation is on the device while an operation names it, so none can pass the budget. Asked for
  // in bytes first: a size near 2^64 would round up to nothing.
  const bool possible = bytes <= pool_->limit() * chunk_size();
  const std::size_t pieces = possible ? (bytes + chunk_size() - 1) / chunk_size() : 0;
  const bool promised = possible && promise_host_memory(pieces);
  Block* block = promised ? planned_place(bytes) : nullptr;
  if (block == nullptr && promised) block = find_place(pieces);
  if (block == nullptr) {
    count(counters_.out_of_memory);
    if (may_evict_) {
      status_.say(
          0,
          "GPU %d: out of memory: %.2f GiB asked for, %.2f GiB live, budget %.2f GiB, host memory for parked "
          "data %.2f GiB (%.2f in use). Give it more with --host-budget or --budget.",
          ordinal_, gib(bytes), gib(allocated_), gib(pool_->limit() * chunk_size()),
          gib(host_->capacity_bytes()), gib(host_->taken() * chunk_size()));
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  activate(*block);
  block->requested = bytes;
  block->stream_ordered = stream_ordered;
  block->buffer_id = next_buffer_id_++;
  account(static_cast<std::int64_t>(pieces * chunk_size()));
  *address = block->address;
  plan_allocated(*block);
  if (recorder_ != nullptr) {
    const std::size_t size = pieces * chunk_size();
    recorder_->allocation(block->buffer_id, block->address, bytes, size, ordinal_, stream_ordered,
                          size >= movable_size_, g_capturing.load(std::memory_order_relaxed) > 0);
  }
  return CUDA_SUCCESS;
}

void DeviceMemory::say_why_not(std::size_t pieces) const {
  status_.say(
      0,
      "GPU %d: out of memory: one operation needs %.2f GiB at once, the budget is %.2f GiB; host memory "
      "for parked data %.2f GiB (%.2f in use). Give it more with --budget or --host-budget.",
      ordinal_, gib(pieces * chunk_size()), gib(pool_->limit() * chunk_size()), gib(host_->capacity_bytes()),
      gib(host_->taken() * chunk_size()));
}

/// Whether host memory can hold what the budget cannot once `more_pieces` are live: told at the allocation,
/// where programs expect it, not at some later launch.
bool DeviceMemory::promise_host_memory(std::size_t more_pieces) {
  const std::size_t wanted = live_pieces_ + more_pieces;
  if (wanted <= pool_->limit()) return true;
  if (!may_evict_) return false;
  const std::size_t parked = wanted - pool_->limit();
  return parked <= host_->taken() || host_->ensure_free(parked - host_->taken());
}

void DeviceMemory::activate(Block& block) {
  block.live = true;
  block.arena = false;
  block.uses.clear();
  block.pending.clear();
  block.last_use = ++tick_;
  block.parked = 0;
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    Piece& piece = block.pieces[i];
    block.pending.add((*pool_)[piece.chunk].free_after);
    pool_->set_owner(piece.chunk, &block, i);
    note_intruder(block, piece.chunk);
    piece.place = Piece::Place::kOnDevice;
  }
  live_pieces_ += block.pieces.size();
  block.resident_reason = ResidentReason::kCount;
  set_reason(block, ResidentReason::kNeverNamed);
}

/// Where `pieces` pieces can live, made free of other contents: a block that is in no list. Before the job
/// swaps, free chunks are taken first and more are made while the budget lasts. Once it swaps, the copy
/// engine out is mostly busy, and every mapping call beside it costs a millisecond a handle (FACTS.md): then
/// a block that is mapped already comes first, even where its chunks hold old contents, or are ones that
/// parked pieces would want back.
Block* DeviceMemory::find_place(std::size_t pieces) {
  if (planned()) return unplanned_place(pieces);
  if (Block* block = clean_block(pieces, false)) return block;
  if (swapping_) {
    if (Block* block = clean_block(pieces, true)) return block;
    if (Block* block = block_under_pressure(pieces)) return block;
  }
  std::size_t unclaimed = pool_->free_count() >= pieces ? pool_->unclaimed_free() : 0;
  if (unclaimed < pieces) {
    const std::size_t lacking = pieces - unclaimed;
    if (pool_->existing() + lacking <= pool_->limit() && grow_by(lacking)) unclaimed = pieces;
  }
  if (unclaimed >= pieces) {
    if (Block* block = make_block(pieces)) return block;
  }
  if (pool_->free_count() < pieces && pool_->existing() < pool_->limit()) {
    grow_by(pool_->limit() - pool_->existing());
  }
  if (pool_->free_count() >= pieces) {
    if (Block* block = make_block(pieces)) return block;
  }
  if (!may_evict_) return nullptr;
  look_for_hidden_pointers();
  headroom_ = std::min(std::max(headroom_, pieces), pool_->limit() / 16);
  std::int64_t parked = 0;
  return make_room(pieces, parked) ? make_block(pieces) : nullptr;
}

bool DeviceMemory::grow_by(std::size_t chunks) {
  const std::size_t made = pool_->grow(chunks);
  const auto held = static_cast<std::int64_t>(pool_->existing() * chunk_size());
  counters_.resident = held;
  raise_to(counters_.resident_peak, held);
  if (made == chunks) return true;
  if (pool_->existing() < pool_->limit() && may_evict_) {
    status_.say(1, "GPU %d: the card gave %.2f GiB of the budget of %.2f GiB; going on with that", ordinal_,
                gib(pool_->existing() * chunk_size()), gib(pool_->limit() * chunk_size()));
  }
  pool_->set_limit(pool_->existing());
  return false;
}

/// A free block of that size whose chunks are all free, with or without chunks that parked pieces want back.
///
/// While everything fits, the lowest address is taken: an iteration that begins with the same live blocks as
/// the one before then makes the same choices all along, finds every block that it needs, and maps nothing
/// (GPT-2: no mapping call from the third step on, against 393 a step). Once the job swaps, the most recently
/// freed is taken: its chunks are the least likely to be wanted back (GPT-2 in 7.3 GiB: 8.3 GB a step each
/// way, against 8.9 by lowest address).
Block* DeviceMemory::clean_block(std::size_t pieces, bool claimed) {
  Block* best = nullptr;
  for (Block* block : store_->free_blocks(pieces)) {
    if (best != nullptr && block->last_use <= best->last_use) continue;
    if (block->maps_twice()) continue;
    const bool clean = std::all_of(block->pieces.begin(), block->pieces.end(), [&](const Piece& piece) {
      if (piece.chunk == kNoChunk) return false;
      const Chunk& chunk = (*pool_)[piece.chunk];
      return chunk.owner == nullptr && !chunk.planned && (claimed || chunk.claims == 0);
    });
    if (!clean) continue;
    best = block;
    if (!swapping_ || planned()) break;
  }
  if (best != nullptr) store_->remove_free(*best);
  return best;
}

/// A free block whose chunks are held by the oldest contents: parking those and taking the block costs no
/// mapping call, and a job that repeats itself finds the same block again. Null when every candidate would
/// park something recent.
Block* DeviceMemory::block_under_pressure(std::size_t pieces) {
  std::uint64_t newest_allowed = 0;
  std::size_t third = pool_->existing() / 3;
  for (Block* block = order_.oldest(); block != nullptr; block = block->newer) {
    newest_allowed = block->last_use;
    const std::size_t held = block->pieces.size() - block->parked;
    if (held >= third) break;
    third -= held;
  }
  Block* best = nullptr;
  std::uint64_t best_use = newest_allowed + 1;
  for (Block* block : store_->free_blocks(pieces)) {
    if (block->maps_twice()) continue;
    std::uint64_t newest = 0;
    for (const Piece& piece : block->pieces) {
      const Block* owner = piece.chunk == kNoChunk ? nullptr : (*pool_)[piece.chunk].owner;
      if (piece.chunk == kNoChunk || (owner != nullptr && !evictable(*owner))) {
        newest = ~std::uint64_t{0};
        break;
      }
      if (owner != nullptr) newest = std::max(newest, owner->last_use);
    }
    if (newest < best_use) {
      best = block;
      best_use = newest;
    }
  }
  if (best == nullptr) return nullptr;
  for (const Piece& piece : best->pieces) {
    const Chunk& chunk = (*pool_)[piece.chunk];
    if (chunk.owner != nullptr) {
      const std::uint32_t part = chunk.piece;
      if (!evict(*chunk.owner, {&part, 1})) return nullptr;
    }
  }
  store_->remove_free(*best);
  return best;
}

Block* DeviceMemory::make_block(std::size_t pieces) {
  trim_mappings();
  const std::vector<ChunkId> chunks = pool_->pick_free(pieces, swapping_);
  if (chunks.size() < pieces) return nullptr;
  Block* block = store_->make(chunks);
  counters_.mappings = store_->mappings();
  return block;
}

/// Gives up the oldest free blocks once the mappings kept are a multiple of the memory held: each costs page
/// tables.
void DeviceMemory::trim_mappings() {
  const std::size_t allowed =
      std::max(pool_->existing() * chunk_size() * kMappedPerHeld, std::size_t{1} << 30);
  if (store_->mapped_bytes() <= allowed) return;
  std::vector<Block*> victims;
  std::size_t over = store_->mapped_bytes() - allowed;
  store_->for_each([&](Block& block) {
    if (block.live || block.planned || block.named > 0 || over == 0) return;
    for (const Moment& moment : block.pending) {
      if (!streams_.done(moment)) return;
    }
    victims.push_back(&block);
    over -= std::min(over, block.pieces.size() * chunk_size());
  });
  for (Block* block : victims) {
    store_->remove_free(*block);
    store_->destroy(*block);
  }
}

bool DeviceMemory::free(CUdeviceptr address, const Moments& free_after) {
  Block* block = store_->find(address);
  if (block == nullptr || !block->live) return false;
  if (block->arena) {
    streams_.mark_for_reuse(free_after, kReuseInterval);
    const auto small = arena_->free(address, free_after);
    if (small) account(-static_cast<std::int64_t>(small->size));
    if (small && recorder_ != nullptr) recorder_->free(small->buffer_id);
    return small.has_value();
  }
  if (block->address != address || block->requested == 0) return false;
  account(-static_cast<std::int64_t>(block->pieces.size() * chunk_size()));
  block->requested = 0;
  plan_freed(address);
  if (recorder_ != nullptr) recorder_->free(block->buffer_id);
  if (block->resident_reason == ResidentReason::kCaptured) return true;  // until its graphs are gone
  release_block(*block, free_after);
  return true;
}

void DeviceMemory::release_block(Block& block, const Moments& free_after) {
  // Once freed, contents are dead: nothing is written back, and nothing need be kept.
  set_reason(block, ResidentReason::kCount);
  order_.remove(block);
  block.live = false;
  Moments after;
  after.assign(free_after);
  after.add(block.pending);
  after.remove_if([this](Moment moment) { return streams_.known_done(moment); });
  for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
    Piece& piece = block.pieces[i];
    if (piece.place == Piece::Place::kOnDevice) {
      (*pool_)[piece.chunk].free_after.assign(after);
      pool_->clear_owner(piece.chunk);
      if (audit_) audit_->on_free(piece.chunk, after, streams_, out_[0].stream);
    } else if (piece.place == Piece::Place::kParked) {
      if (piece.chunk != kNoChunk) --(*pool_)[piece.chunk].claims;
      host_->give_back(piece.slot);
      piece.slot = kNoSlot;
      count(counters_.parked, -static_cast<std::int64_t>(chunk_size()));
    }
    piece.place = Piece::Place::kNowhere;
  }
  block.parked = 0;
  block.uses.clear();
  block.last_use = ++tick_;     // of a free block: when it was freed
  block.pending.assign(after);  // of the addresses: what must pass before they are unmapped
  live_pieces_ -= block.pieces.size();
  if (block.planned) {
    keep_planned(block);
  } else {
    store_->add_free(block);
  }
}

Block* DeviceMemory::find_gated(CUdeviceptr address) const {
  Block* block = store_->find(address);
  return block != nullptr && block->live && !block->arena ? block : nullptr;
}

DeviceMemory::Named DeviceMemory::named(CUdeviceptr address, bool small_ones) const {
  Block* block = store_->find(address);
  if (block == nullptr || !block->live) return {};
  if (!block->arena) return {block, block->requested != 0 ? block->buffer_id : 0, block->address};
  const SmallArena::Allocation* small = small_ones ? arena_->find(address) : nullptr;
  return small != nullptr ? Named{nullptr, small->buffer_id, small->address} : Named{};
}

std::optional<AllocationView> DeviceMemory::view(CUdeviceptr address) const {
  const Block* block = store_->find(address);
  if (block == nullptr || !block->live) return std::nullopt;
  if (block->arena) {
    const SmallArena::Allocation* small = arena_->find(address);
    if (small == nullptr) return std::nullopt;
    return AllocationView{small->address, small->requested, small->buffer_id, ordinal_,
                          small->stream_ordered};
  }
  if (block->requested == 0) return std::nullopt;
  return AllocationView{block->address, block->requested, block->buffer_id, ordinal_, block->stream_ordered};
}

void DeviceMemory::keep_resident_address(CUdeviceptr address, ResidentReason reason) {
  if (Block* block = find_gated(address)) {
    keep_resident(*block, reason);
  } else if (reason == ResidentReason::kCaptured) {
    arena_->hold(address);  // does nothing for what is no small allocation
  }
}

CUresult DeviceMemory::keep_resident(Block& block, ResidentReason reason) {
  if (block.arena || (!block.movable() && block.resident_reason == ResidentReason::kCaptured))
    return CUDA_SUCCESS;
  Operation operation;
  ++block.pins;
  const bool there = bring_in(operation, block);
  --block.pins;
  if (!there) return CUDA_ERROR_OUT_OF_MEMORY;
  set_reason(block, reason);
  if (reason == ResidentReason::kCaptured) {
    captured_.push_back(&block);
    captured_pending_.add(block.pending);
  }
  return CUDA_SUCCESS;
}

void DeviceMemory::release_captured() {
  std::vector<Block*> blocks;
  blocks.swap(captured_);
  captured_pending_.clear();
  Moments now;
  streams_.add_tails(now);
  arena_->release_held(now);
  for (Block* block : blocks) {
    if (block->requested == 0) {
      release_block(*block, now);
    } else {
      block->uses.add(now);
      set_reason(*block, ResidentReason::kNeverNamed);  // movable again once a launch names it
    }
  }
}

std::size_t DeviceMemory::shrink(std::size_t bytes) {
  // Of a small budget a share: what an operation needs at once has to stay.
  const std::size_t share = std::max<std::size_t>(pool_->limit() / 8, 1);
  const std::size_t chunks = std::min((bytes + chunk_size() - 1) / chunk_size(), share);
  if (may_evict_ && pool_->free_count() < chunks) {
    std::int64_t parked = 0;
    make_room(chunks, parked);
  }
  std::size_t released = release_free_chunks(chunks);
  if (released < chunks && planned()) {
    leave_plan();
    released += release_free_chunks(chunks - released);
  }
  pool_->set_limit(std::min(pool_->limit(), pool_->existing()));
  counters_.resident = static_cast<std::int64_t>(pool_->existing() * chunk_size());
  return released * chunk_size();
}

/// Gives up to so many free chunks back to the card; those of a plan in place are kept. How many it were.
std::size_t DeviceMemory::release_free_chunks(std::size_t chunks) {
  std::vector<bool> kept(pool_->end(), false);
  store_->for_each([&](const Block& block) {
    for (const Piece& piece : block.pieces) {
      if (block.planned && !block.live && piece.chunk != kNoChunk) kept[piece.chunk] = true;
    }
  });
  std::size_t released = 0;
  for (ChunkId id = 0; id < pool_->end() && released < chunks; ++id) {
    Chunk& chunk = (*pool_)[id];
    if (!chunk.exists || chunk.owner != nullptr || chunk.planned || kept[id]) continue;
    const std::vector<Block*> mapping = store_->free_blocks_mapping(id);
    if (std::any_of(mapping.begin(), mapping.end(), [](const Block* block) { return block->named > 0; }))
      continue;
    for (const Moment& moment : chunk.free_after) streams_.wait_on_host(moment);
    for (Block* block : mapping) {
      for (const Moment& moment : block->pending) streams_.wait_on_host(moment);
      store_->remove_free(*block);
      store_->destroy(*block);
    }
    if (chunk.claims > 0) {
      store_->for_each([&](Block& block) {
        for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
          if (block.pieces[i].chunk != id) continue;
          for (const Moment& moment : block.uses) streams_.wait_on_host(moment);
          store_->remap(block, i, kNoChunk);
        }
      });
      chunk.claims = 0;
    }
    pool_->destroy(id);
    ++released;
  }
  return released;
}

void DeviceMemory::add_peer(CUdevice peer) {
  pool_->add_peer(peer);
  for (ChunkId id = 0; id < pool_->end(); ++id) {
    if ((*pool_)[id].exists) pool_->allow(pool_->alias(id), chunk_size());
  }
  store_->for_each([&](Block& block) {
    for (std::uint32_t i = 0; i < block.piece_count(); ++i) {
      if (block.pieces[i].chunk != kNoChunk) pool_->allow(block.address + i * chunk_size(), chunk_size());
    }
  });
}

bool DeviceMemory::has_copies_in_flight() {
  return (last_out_ && !streams_.done(*last_out_)) || !streams_.done(streams_.tail(in_));
}

}  // namespace tferry::runtime
