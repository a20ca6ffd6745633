#include "runtime/small_arena.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace tferry::runtime {
namespace {

constexpr std::size_t kGranule = 512;  ///< what cuMemAlloc aligns to

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

}  // namespace

std::size_t SmallArena::class_size(std::size_t bytes) {
  bytes = round_up(std::max<std::size_t>(bytes, 1), kGranule);
  const std::size_t step = std::bit_floor(bytes) / 8;
  return step <= kGranule ? bytes : round_up(bytes, step);
}

std::optional<SmallArena::Allocation> SmallArena::allocate(std::size_t bytes, std::uint64_t buffer_id,
                                                           bool stream_ordered) {
  const std::size_t size = class_size(bytes);
  CUdeviceptr address = 0;
  auto& free = free_[size];
  // What was freed and is still in use may fill one slab for each class; then the program waits, as it would
  // have waited in the driver's own cuMemFree. Without that bound a program that runs far ahead of the GPU
  // would take slab after slab.
  const bool many = free.size() * size >= slab_size_;
  if (!free.empty() && (source_.reusable(free.front().after) || (many && source_.wait(free.front().after)))) {
    address = free.front().address;
    free.pop_front();
  } else {
    if (slab_left_ < size) {
      const CUdeviceptr slab = source_.more(slab_size_);
      if (slab == 0) return std::nullopt;
      // What is left of the old slab is less than this class; it is given up.
      slab_next_ = slab;
      slab_left_ = slab_size_;
    }
    address = slab_next_;
    slab_next_ += size;
    slab_left_ -= size;
  }
  const Allocation allocation{address, size, bytes, buffer_id, stream_ordered, false};
  live_.emplace(address, allocation);
  return allocation;
}

const SmallArena::Allocation* SmallArena::find(CUdeviceptr address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Allocation& allocation = std::prev(after)->second;
  return address - allocation.address < allocation.size ? &allocation : nullptr;
}

std::optional<SmallArena::Allocation> SmallArena::free(CUdeviceptr address, const Moments& free_after) {
  const auto found = live_.find(address);
  if (found == live_.end()) return std::nullopt;
  const Allocation allocation = found->second;
  live_.erase(found);
  if (allocation.held) {
    held_.push_back(allocation);
    return allocation;
  }
  auto& list = free_[allocation.size];
  list.emplace_back();
  list.back().address = address;
  list.back().after.assign(free_after);
  return allocation;
}

void SmallArena::hold(CUdeviceptr address) {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return;
  Allocation& allocation = std::prev(after)->second;
  if (address - allocation.address < allocation.size) allocation.held = true;
}

void SmallArena::release_held(const Moments& free_after) {
  for (auto& [address, allocation] : live_) allocation.held = false;
  for (const Allocation& allocation : held_) {
    auto& list = free_[allocation.size];
    list.emplace_back();
    list.back().address = allocation.address;
    list.back().after.assign(free_after);
  }
  held_.clear();
}

}  // namespace tferry::runtime
