#include "analyzer/tensors/count_memory.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace tferry::analyzer {
namespace {

constexpr std::int64_t kGranule = 512;  // smallest step of a class

bool small(const RecordedAllocation& allocation, const trace::MemoryRules& rules) {
  return allocation.asked() <= static_cast<std::int64_t>(rules.largest_small());
}

std::int64_t most_alive(std::vector<std::pair<std::int64_t, int>> changes) {
  std::sort(changes.begin(), changes.end());  // at one time frees first
  std::int64_t alive = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, alive += change);
  return most;
}

}  // namespace

void count_memory(Recording& recording, const trace::MemoryRules& rules) {
  for (RecordedAllocation& allocation : recording.allocations) {
    const std::int64_t asked = allocation.asked();
    const auto whole =
        static_cast<std::int64_t>(rules.pieces(static_cast<std::uint64_t>(asked)) * rules.chunk);
    allocation.requested = asked;
    allocation.bytes = small(allocation, rules) ? asked : whole;
    allocation.movable =
        !small(allocation, rules) && !allocation.stays && whole >= static_cast<std::int64_t>(rules.movable);
  }
}

std::int64_t small_memory(const Recording& recording, const trace::MemoryRules& rules) {
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, int>>> by_size;
  for (const RecordedAllocation& allocation : recording.allocations) {
    if (allocation.asked() <= 0 || !small(allocation, rules)) continue;
    const std::int64_t size = (allocation.asked() + kGranule - 1) / kGranule * kGranule;
    by_size[size].emplace_back(allocation.alloc_ns, 1);
    if (allocation.free_ns) by_size[size].emplace_back(*allocation.free_ns, -1);
  }
  std::int64_t bytes = 0;
  for (const auto& [size, changes] : by_size) bytes += size * most_alive(changes);
  return bytes + bytes / 8;
}

}  // namespace tferry::analyzer
