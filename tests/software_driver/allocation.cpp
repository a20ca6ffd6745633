#include "tests/software_driver/allocation.hpp"

#include "tests/software_driver/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tferry::software_driver {

std::uint64_t next_buffer_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void AllocationTable::insert(std::shared_ptr<Allocation> allocation) {
  if (allocation->buffer_id == 0) allocation->buffer_id = next_buffer_id();
  const std::lock_guard lock(mutex_);
  const Address base = allocation->base;
  const Address end = base + std::max<std::size_t>(allocation->size, 1);
  const auto next = by_base_.lower_bound(base);
  require(next == by_base_.end() || next->first >= end, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  if (next != by_base_.begin()) {
    const auto& before = *std::prev(next)->second;
    require(before.base + before.size <= base, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  }
  by_base_.emplace(base, std::move(allocation));
}

std::shared_ptr<Allocation> AllocationTable::find(Address address) const {
  const std::lock_guard lock(mutex_);
  auto at = by_base_.upper_bound(address);
  if (at == by_base_.begin()) return nullptr;
  --at;
  return address - at->first < at->second->size ? at->second : nullptr;
}

std::shared_ptr<Allocation> AllocationTable::remove(Address base) {
  const std::lock_guard lock(mutex_);
  const auto at = by_base_.find(base);
  if (at == by_base_.end()) return nullptr;
  auto allocation = std::move(at->second);
  by_base_.erase(at);
  return allocation;
}

std::vector<std::shared_ptr<Allocation>> AllocationTable::remove_context(CUcontext context) {
  std::vector<std::shared_ptr<Allocation>> removed;
  const std::lock_guard lock(mutex_);
  for (auto at = by_base_.begin(); at != by_base_.end();) {
    if (at->second->context == context) {
      removed.push_back(std::move(at->second));
      at = by_base_.erase(at);
    } else {
      ++at;
    }
  }
  return removed;
}

std::size_t AllocationTable::size() const {
  const std::lock_guard lock(mutex_);
  return by_base_.size();
}

}  // namespace tferry::software_driver
