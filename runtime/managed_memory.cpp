#include "runtime/managed_memory.hpp"

#include "runtime/capture_guard.hpp"

#include <algorithm>
#include <utility>

namespace tferry::runtime {
namespace {

constexpr std::size_t kSlab = ManagedMemory::kPage;     ///< of small allocations: up to half of it
constexpr std::size_t kReserve = std::size_t{1} << 30;  ///< of the card's free memory, left to others
constexpr Sequence kReuseInterval = 16;  ///< operations between events, where small memory is freed
constexpr std::uint64_t kPagedIds = std::uint64_t{1} << 38;  ///< where explicit memory can be beside it
constexpr std::uint64_t kRecent = 128;  ///< operations; what was used since does not leave ahead of need

}  // namespace

ManagedMemory::ManagedMemory(Environment environment, int ordinal, CUdevice device, CUcontext context)
    : driver_(environment.driver),
      config_(environment.config),
      status_(environment.status),
      counters_(environment.status.device(ordinal)),
      streams_(environment.streams),
      recorder_(environment.recorder),
      ordinal_(ordinal),
      device_(device),
      context_(context) {}

ManagedMemory::~ManagedMemory() {
  mover_.reset();
  if (base_ != 0) driver_.cuMemFree_v2(base_);
}

bool ManagedMemory::open(std::string& error) {
  int concurrent = 0;
  if (driver_.cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device_) !=
          CUDA_SUCCESS ||
      concurrent == 0 || driver_.cuMemPrefetchAsync_v2 == nullptr) {
    error = "this GPU or driver has no managed memory that moves by pages";
    return false;
  }
  std::size_t card_free = 0;
  std::size_t card_total = 0;
  if (driver_.cuMemGetInfo_v2(&card_free, &card_total) != CUDA_SUCCESS) return false;
  card_free_ = card_free;
  const BudgetRule rule = config_.budget_for(ordinal_);
  budget_ = rule.fixed(card_total) / kPage * kPage;
  emulate_ = config_.policy == Policy::kNaiveManaged;
  std::size_t size = card_free - std::min(card_free, std::min(kReserve, card_free / 8));
  if (config_.allow_oversubscription) size += available_host_memory() / 20 * 17;
  if (config_.managed_limit != 0) size = std::min(size, config_.managed_limit);
  size = std::max(size / kPage * kPage, kPage);
  const CUresult made = driver_.cuMemAllocManaged(&base_, size + kPage, CU_MEM_ATTACH_GLOBAL);
  if (made != CUDA_SUCCESS) {
    base_ = 0;
    error = "no managed memory of " + std::to_string(size >> 20) + " MiB: " + cuda::error_name(driver_, made);
    return false;
  }
  region_ = AddressRange((base_ + kPage - 1) / kPage * kPage, size);
  pages_.resize(size / kPage);
  mover_ = std::make_unique<ManagedMover>(driver_, device_, context_);
  if (!mover_->open()) {
    error = "the driver makes no stream";
    return false;
  }
  relay_ = streams_.add_internal(mover_->relay(), context_);
  next_buffer_id_ = (static_cast<std::uint64_t>(ordinal_) << 40) + 1;
  if (config_.access_pages) next_buffer_id_ += kPagedIds;
  arena_ = std::make_unique<SmallArena>(
      SmallArena::Source{
          [this](std::size_t bytes) { return take_for_good((bytes + kPage - 1) / kPage * kPage); },
          [this](const Moments& after) { return streams_.reusable(after); },
          [this](const Moments& after) {
            if (g_capturing.load(std::memory_order_relaxed) > 0) return false;
            count(counters_.host_waits, streams_.wait_on_host(after));
            return true;
          }},
      kSlab);
  counters_.budget = static_cast<std::int64_t>(budget_ != 0 ? budget_ : size);
  counters_.budget_source = static_cast<std::int64_t>(rule.source);
  counters_.card_total = static_cast<std::int64_t>(card_total);
  counters_.card_free = static_cast<std::int64_t>(card_free);
  counters_.chunk_size = static_cast<std::int64_t>(kPage);
  return true;
}

/// Discards of these pages that are ordered are over when it returns: who gets the addresses may write there
/// by operations that do not name them.
void ManagedMemory::wait_for_discards(PageIndex first, std::size_t pages) {
  std::uint64_t ordered = 0;
  for (PageIndex page = first; page < first + pages; ++page) {
    if (std::exchange(pages_[page].discarded, false)) ordered = std::max(ordered, pages_[page].out_at);
  }
  if (ordered == 0) return;
  const std::int64_t begin = StatusPage::now_ns();
  mover_->wait_out(ordered);
  count(counters_.host_waits);
  count(counters_.host_wait_ns, StatusPage::now_ns() - begin);
}

/// Pages for small allocations: nobody tells when those are used, so they never leave.
CUdeviceptr ManagedMemory::take_for_good(std::size_t bytes) {
  const CUdeviceptr begin = region_.take(bytes);
  if (begin == 0) return 0;
  slabs_.push_back({begin, bytes});
  wait_for_discards(page_of(begin), bytes / kPage);
  for (PageIndex page = page_of(begin); page < page_of(begin) + bytes / kPage; ++page) {
    if (pages_[page].resident) {
      unlink(page);
    } else {
      resident_ += kPage;
    }
    pages_[page].resident = pages_[page].filled = true;
    const Reference before = std::exchange(pages_[page].holder, nullptr);
    if (before == nullptr) continue;
    for (const Moments* moments : {&before->pending, &before->uses})
      count(counters_.host_waits, streams_.wait_on_host(*moments));
  }
  return begin;
}

void ManagedMemory::account(std::int64_t bytes) {
  allocated_ = static_cast<std::size_t>(static_cast<std::int64_t>(allocated_) + bytes);
  counters_.allocated = static_cast<std::int64_t>(allocated_);
  raise_to(counters_.allocated_peak, static_cast<std::int64_t>(allocated_));
}

CUresult ManagedMemory::allocate(std::size_t bytes, bool stream_ordered, CUdeviceptr* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  count(counters_.allocations);
  if (bytes <= (config_.access_pages ? kSharedPages : arena_->largest())) {
    if (const auto small = arena_->allocate(bytes, next_buffer_id_, stream_ordered)) {
      ++next_buffer_id_;
      if (recorder_ != nullptr) {
        recorder_->allocation(small->buffer_id, small->address, bytes, small->size, ordinal_, stream_ordered,
                              false, false);
      }
      account(static_cast<std::int64_t>(small->size));
      *address = small->address;
      return CUDA_SUCCESS;
    }
  }
  const std::size_t reserved = bytes <= region_.size() ? (bytes + kPage - 1) / kPage * kPage : 0;
  const CUdeviceptr begin = reserved != 0 ? region_.take(reserved) : 0;
  if (begin == 0) {
    if (config_.access_pages) return CUDA_ERROR_OUT_OF_MEMORY;  // the caller knows what else there is
    count(counters_.out_of_memory);
    status_.say(0,
                "GPU %d: out of memory: %.2f GiB asked for, %.2f GiB live, %.2f GiB of managed memory: no "
                "more than the card has free, because more can hang it (--allow-oversubscription asks for "
                "more; --memory explicit, the default, needs no managed memory)",
                ordinal_, gib(bytes), gib(allocated_), gib(region_.size()));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  wait_for_discards(page_of(begin), reserved / kPage);
  auto allocation = std::make_shared<ManagedAllocation>();
  allocation->address = begin;
  allocation->bytes = bytes;
  allocation->reserved = reserved;
  allocation->buffer_id = next_buffer_id_++;
  allocation->stream_ordered = stream_ordered;
  for (PageIndex page = page_of(begin); page < page_of(begin) + reserved / kPage; ++page) {
    if (const Reference& before = pages_[page].holder) allocation->pending.add(before->uses);
    pages_[page].holder = allocation;
  }
  allocation->pending.remove_if([this](Moment moment) { return streams_.known_done(moment); });
  live_.emplace(begin, allocation);
  account(static_cast<std::int64_t>(reserved));
  if (recorder_ != nullptr) {
    recorder_->allocation(allocation->buffer_id, begin, bytes, reserved, ordinal_, stream_ordered, true,
                          g_capturing.load(std::memory_order_relaxed) > 0);
  }
  *address = begin;
  return CUDA_SUCCESS;
}

bool ManagedMemory::free(CUdeviceptr address, const Moments& after) {
  const auto found = live_.find(address);
  if (found == live_.end()) {
    streams_.mark_for_reuse(after, kReuseInterval);
    const auto small = arena_->free(address, after);
    if (small) account(-static_cast<std::int64_t>(small->size));
    if (small && recorder_ != nullptr) recorder_->free(small->buffer_id);
    return small.has_value();
  }
  const Reference allocation = found->second;
  live_.erase(found);
  if (recorder_ != nullptr) recorder_->free(allocation->buffer_id);
  const PageIndex first = page_of(allocation->address);
  for (PageIndex page = first; page < first + allocation->reserved / kPage; ++page) {
    if (pages_[page].filled && !pages_[page].resident && !allocation->dead())
      count(counters_.parked, -static_cast<std::int64_t>(kPage));
  }
  allocation->uses.add(after);
  allocation->uses.add(allocation->pending);
  allocation->live = false;
  if (allocation->held) {
    held_.push_back(allocation);
  } else {
    region_.give_back(allocation->address, allocation->reserved);
  }
  account(-static_cast<std::int64_t>(allocation->reserved));
  return true;
}

void ManagedMemory::hold(CUdeviceptr address) {
  if (const Reference found = find(address)) {
    found->held = true;
  } else {
    arena_->hold(address);
  }
}

void ManagedMemory::release_held() {
  Moments after;
  streams_.add_tails(after);
  for (const Reference& allocation : held_) {
    allocation->uses.add(after);
    region_.give_back(allocation->address, allocation->reserved);
  }
  held_.clear();
  for (auto& [address, allocation] : live_) allocation->held = false;
  arena_->release_held(after);
}

std::vector<ManagedRun> ManagedMemory::in_use() const {
  std::vector<ManagedRun> runs = slabs_;
  for (const auto& [address, allocation] : live_) runs.push_back({address, allocation->reserved});
  for (const Reference& allocation : held_) runs.push_back({allocation->address, allocation->reserved});
  std::sort(runs.begin(), runs.end(),
            [](const ManagedRun& a, const ManagedRun& b) { return a.address < b.address; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[last].address + runs[last].bytes == runs[i].address) {
      runs[last].bytes += runs[i].bytes;
    } else {
      runs[++last] = runs[i];
    }
  }
  if (!runs.empty()) runs.resize(last + 1);
  return runs;
}

ManagedMemory::Reference ManagedMemory::find(CUdeviceptr address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Reference& candidate = std::prev(after)->second;
  return address - candidate->address < candidate->reserved ? candidate : nullptr;
}

std::optional<AllocationView> ManagedMemory::view(CUdeviceptr address) const {
  if (const Reference found = find(address)) {
    return AllocationView{found->address, found->bytes, found->buffer_id, ordinal_, found->stream_ordered};
  }
  const SmallArena::Allocation* small = arena_->find(address);
  if (small == nullptr) return std::nullopt;
  return AllocationView{small->address, small->requested, small->buffer_id, ordinal_, small->stream_ordered};
}

void ManagedMemory::unlink(PageIndex index) {
  Page& page = pages_[index];
  if (page.older == kNoPage && page.newer == kNoPage && oldest_ != index) return;
  (page.older != kNoPage ? pages_[page.older].newer : oldest_) = page.newer;
  (page.newer != kNoPage ? pages_[page.newer].older : newest_) = page.older;
  page.older = page.newer = kNoPage;
}

void ManagedMemory::touch(PageIndex index) {
  if (newest_ == index) return;
  unlink(index);
  pages_[index].older = newest_;
  (newest_ != kNoPage ? pages_[newest_].newer : oldest_) = index;
  newest_ = index;
}

/// Pages that the operation needs and the device does not have; the others become the most recently used.
std::vector<ManagedMemory::PageIndex> ManagedMemory::missing(std::span<const Reference> named) {
  std::vector<PageIndex> pages;
  for (const Reference& allocation : named) {
    if (!contains(allocation->address)) continue;  // another device's
    const PageIndex first = page_of(allocation->address);
    for (PageIndex page = first; page < first + allocation->reserved / kPage; ++page) {
      if (pages_[page].tick == tick_) continue;
      pages_[page].tick = tick_;
      if (pages_[page].resident) {
        touch(page);
      } else {
        pages.push_back(page);
      }
    }
  }
  return pages;
}

/// What was freed, and then the pages used longest ago, `bytes` of them, none used since tick `used_before`.
/// What was freed goes first however lately it was used, because nothing crosses the link for it, whereas the
/// pages used longest ago hold what an iteration comes back to. Plain managed memory knows of no tensors: the
/// emulation goes by use alone.
std::vector<ManagedMemory::PageIndex> ManagedMemory::victims(std::size_t bytes,
                                                             std::uint64_t used_before) const {
  std::vector<PageIndex> pages;
  for (const bool freed_ones : {true, false}) {
    for (PageIndex page = oldest_; page != kNoPage && pages.size() * kPage < bytes;
         page = pages_[page].newer) {
      const Reference& holder = pages_[page].holder;
      const bool pinned = holder == nullptr || holder->pins > 0;
      if (pages_[page].tick >= used_before || pinned) continue;
      if ((!holder->live && !emulate_) == freed_ones) pages.push_back(page);
    }
  }
  return pages;
}

/// Only what was freed is ever discarded: memory that was allocated and never named may hold what a kernel
/// wrote through a pointer that no argument shows.
std::vector<ManagedRun> ManagedMemory::runs_of(const std::vector<PageIndex>& pages) const {
  std::vector<PageIndex> sorted = pages;
  std::sort(sorted.begin(), sorted.end());
  std::vector<ManagedRun> runs;
  for (const PageIndex page : sorted) {
    const bool is_dead = freed(pages_[page]);
    if (!runs.empty() && runs.back().dead == is_dead &&
        runs.back().address + runs.back().bytes == address_of(page)) {
      runs.back().bytes += kPage;
    } else {
      runs.push_back({address_of(page), kPage, is_dead});
    }
  }
  return runs;
}

void ManagedMemory::settle(PageIndex index, bool resident) {
  Page& page = pages_[index];
  const bool contents = page.filled && !dead(page);
  const auto bytes = static_cast<std::int64_t>(kPage);
  page.resident = resident;
  if (resident) {
    touch(index);
    resident_ += kPage;
    if (contents) count(counters_.bytes_in, bytes);
    if (contents) count(counters_.parked, -bytes);
  } else {
    unlink(index);
    resident_ -= kPage;
    if (contents) count(counters_.bytes_out, bytes);
    if (contents) count(counters_.parked, bytes);
    raise_to(counters_.parked_peak, counters_.parked.load(std::memory_order_relaxed));
  }
  counters_.resident = static_cast<std::int64_t>(resident_);
  raise_to(counters_.resident_peak, static_cast<std::int64_t>(resident_));
}

void ManagedMemory::move_out(const std::vector<PageIndex>& pages, StreamIndex stream) {
  if (pages.empty()) return;
  const std::vector<ManagedRun> runs = runs_of(pages);
  const StreamIndex waits = emulate_ ? stream : relay_;
  const ManagedAllocation* last = nullptr;
  for (const PageIndex page : pages) {
    const ManagedAllocation* holder = pages_[page].holder.get();
    if (holder == nullptr || holder == last) continue;
    streams_.wait(waits, holder->pending);
    streams_.wait(waits, holder->uses);
    last = holder;
  }
  for (const PageIndex page : pages) settle(page, false);
  count(counters_.evictions, static_cast<std::int64_t>(runs.size()));
  if (!emulate_) {
    mover_->move_out(runs);
    for (const PageIndex page : pages) {
      pages_[page].out_at = mover_->out_bytes();
      pages_[page].discarded = freed(pages_[page]);
    }
    return;
  }
  // Whoever runs out of room in plain managed memory pays for it in the middle of the kernel's way.
  const CUmemLocation host{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  for (const ManagedRun& run : runs) {
    driver_.cuMemPrefetchAsync_v2(run.address, run.bytes, host, 0, streams_.handle(stream));
  }
}

void ManagedMemory::move_in(const std::vector<PageIndex>& pages, StreamIndex stream) {
  std::vector<ManagedRun> runs = runs_of(pages);
  std::uint64_t after_out = 0;
  for (const PageIndex page : pages) {
    after_out = std::max(after_out, pages_[page].out_at);
    settle(page, true);
    pages_[page].filled = true;
  }
  count(counters_.fetches, static_cast<std::int64_t>(runs.size()));
  if (emulate_) return;  // the kernel faults it in
  if (budget_ == 0) {
    // Nothing has ever left, so there are no contents to wait for.
    mover_->move_in(std::move(runs), 0);
    return;
  }
  // Of what was ordered out, as much may still be under way as there is room.
  const std::uint64_t room = budget_ > resident_ ? budget_ - resident_ : 0;
  const std::uint64_t ordered = mover_->out_bytes();
  after_out = std::max(after_out, ordered > room ? ordered - room : 0);
  const std::uint64_t ticket = mover_->move_in(std::move(runs), after_out);
  const std::int64_t begin = StatusPage::now_ns();
  mover_->gate(ticket, streams_.handle(stream));
  count(counters_.host_waits);
  count(counters_.host_wait_ns, StatusPage::now_ns() - begin);
}

bool ManagedMemory::acquire(StreamIndex stream, std::span<const Reference> named) {
  ++tick_;
  bool waited = false;
  for (const Reference& allocation : named) {
    if (contains(allocation->address) && !allocation->pending.empty())
      waited |= streams_.wait(stream, allocation->pending);
  }
  if (config_.access_pages) return waited;  // everything comes by faults, which is what is watched
  const std::vector<PageIndex> pages = missing(named);
  const std::size_t need = pages.size() * kPage;
  if (budget_ != 0 && need > 0 && resident_ + need > budget_) {
    move_out(victims(resident_ + need - budget_, tick_), stream);
    if (resident_ + need > budget_ && !std::exchange(too_large_told_, true)) {
      status_.say(0,
                  "GPU %d: one operation names %.2f GiB, more than the budget of %.2f GiB: it runs, and the "
                  "budget is passed",
                  ordinal_, gib(resident_ + need), gib(budget_));
    }
  }
  if (need > 0) move_in(pages, stream);
  const std::size_t headroom = budget_ / 16;
  if (budget_ != 0 && !emulate_ && counters_.evictions > 0 && resident_ + headroom > budget_ &&
      tick_ > kRecent) {
    move_out(victims(resident_ + headroom - budget_, tick_ - kRecent), stream);
  }
  return waited || (need > 0 && budget_ != 0 && !emulate_);
}

void ManagedMemory::pin(std::span<const Reference> named) {
  for (const Reference& allocation : named) ++allocation->pins;
}

void ManagedMemory::release(std::span<const Reference> named, const Moment* moment) {
  for (const Reference& allocation : named) {
    --allocation->pins;
    if (moment == nullptr) continue;
    allocation->uses.add(*moment);
    allocation->used = true;
  }
}

}  // namespace tferry::runtime
