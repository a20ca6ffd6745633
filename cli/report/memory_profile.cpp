#include "cli/report/memory_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace tferry::cli {
namespace {

struct Life {
  LiveAllocation allocation;
  std::int64_t begin = 0, end = 0;
};

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

void find_peak(std::vector<Life>& lives, std::optional<std::int64_t> at_ns, MemoryProfile& profile) {
  // Frees before allocations of the same moment: memory handed on counts once.
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const Life& life : lives) {
    changes.emplace_back(life.begin, life.allocation.bytes);
    if (life.end != kForever) changes.emplace_back(life.end, -life.allocation.bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0;
  profile.peak_ns = at_ns.value_or(0);
  for (const auto& [time, bytes] : changes) {
    if (at_ns && time > *at_ns) break;
    live += bytes;
    if (at_ns || live > profile.peak_bytes) {
      profile.peak_bytes = live;
      profile.peak_ns = at_ns.value_or(time);
    }
  }
  for (const Life& life : lives) {
    if (life.begin > profile.peak_ns || life.end <= profile.peak_ns) continue;
    profile.alive.push_back(life.allocation);
    if (life.allocation.movable) profile.movable_at_peak += life.allocation.bytes;
  }
}

}  // namespace

std::vector<MemoryProfile> memory_profiles(const Scope& scope, std::optional<std::int64_t> at_ns) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Life>> ranks;
  std::map<std::int64_t, std::int64_t> pids;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> never_freed;
  const std::int64_t from = scope.from_ns().value_or(std::numeric_limits<std::int64_t>::min());
  const std::int64_t to = scope.to_ns().value_or(kForever);
  scope.select(
      "SELECT allocation.id, process_id, pid, device_id, max(reserved_bytes, bytes), alloc_ns, free_ns, "
      "movable, bytes, address FROM allocation JOIN process ON process.id = process_id WHERE device_id IS "
      "NOT NULL AND memory_kind IN (0, "
      "3) AND " +
          scope.condition("process_id", "device_id", ""),
      [&](trace::Statement& row) {
        Life life;
        life.allocation = {row.integer(0), row.integer(4), row.integer(7) != 0, row.integer(8),
                           row.integer(9)};
        life.begin = std::max(row.integer(5), from);
        life.end = row.is_null(6) ? kForever : row.integer(6);
        if (life.end < life.begin || life.begin >= to) return;
        const std::pair rank{row.integer(1), row.integer(3)};
        pids[rank.first] = row.integer(2);
        if (life.end == kForever) never_freed[rank] += life.allocation.bytes;
        ranks[rank].push_back(life);
      });
  std::vector<MemoryProfile> profiles;
  for (auto& [rank, lives] : ranks) {
    MemoryProfile profile;
    profile.process_id = rank.first;
    profile.pid = pids[rank.first];
    profile.device_id = rank.second;
    profile.allocations = static_cast<std::int64_t>(lives.size());
    profile.never_freed_bytes = never_freed[rank];
    find_peak(lives, at_ns, profile);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace tferry::cli
