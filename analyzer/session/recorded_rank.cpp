#include "analyzer/session/recorded_rank.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace tferry::analyzer {
namespace {

/// The places of `rows` in the order of `key`, equal ones as they stand.
template <typename Rows, typename Key>
std::vector<std::uint32_t> order_by(const Rows& rows, Key&& key) {
  std::vector<std::uint32_t> places(rows.size());
  std::iota(places.begin(), places.end(), 0);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(key(rows[a]), a) < std::pair(key(rows[b]), b);
  };
  if (!std::is_sorted(places.begin(), places.end(), before)) std::sort(places.begin(), places.end(), before);
  return places;
}

constexpr std::uint32_t kNotPlanned = IdIndex::kNone - 1;

/// What the runtime serves under a plan. Managed, pinned and virtual memory, arrays and pools of the
/// program's own stay the driver's, and a run under a plan does not count them.
bool may_be_planned(const trace::AllocationRow& row) {
  const bool on_device = row.device_id && (row.memory_kind == trace::MemoryKind::kUnknown ||
                                           row.memory_kind == trace::MemoryKind::kDevice);
  return on_device && row.api != trace::AllocationApi::kPool && row.api != trace::AllocationApi::kVirtual;
}

void absorb(RankOperation& into, const RankOperation& other) {
  RecordedOperation& one = into.recorded;
  auto start = one.start_ns, end = one.end_ns;
  const auto& [other_start, other_end] = std::tie(other.recorded.start_ns, other.recorded.end_ns);
  if (other_start) start = std::min(start.value_or(*other_start), *other_start);
  if (other_end) end = std::max(end.value_or(*other_end), *other_end);
  if (other.source.kind == SessionRecording::Kind::kGraph) into = other;
  one.start_ns = start;
  one.end_ns = end;
}

}  // namespace

void RecordedRank::order_operations() {
  result_.hooked = !numbered_.empty();
  std::vector<RankOperation> merged;
  merged.reserve(result_.hooked ? numbered_.size() : loose_.size());
  if (result_.hooked) {
    result_.without_call = static_cast<std::int64_t>(loose_.size());
    for (const std::uint32_t at :
         order_by(numbered_, [](const RankOperation& one) { return one.recorded.number; })) {
      const RankOperation& next = numbered_[at];
      const bool same = !merged.empty() && merged.back().recorded.number == next.recorded.number;
      same ? absorb(merged.back(), next) : merged.push_back(next);
    }
  } else {
    merged.assign(loose_.begin(), loose_.end());
  }
  numbered_ = {};
  loose_ = {};
  Recording& recording = result_.recording;
  recording.operations.reserve(merged.size());
  result_.sources.reserve(merged.size());
  for (const std::uint32_t at : order_by(merged, [](const RankOperation& one) {
         return std::pair(one.recorded.call_ns, one.recorded.number);
       })) {
    if (result_.hooked)
      operations_.add(merged[at].recorded.number, static_cast<std::uint32_t>(recording.operations.size()));
    recording.operations.push_back(merged[at].recorded);
    result_.sources.push_back(merged[at].source);
  }
  operations_.build();
}

void RecordedRank::add_gate(std::int64_t operation) {
  const std::uint32_t at = operations_.find(operation);
  if (at != IdIndex::kNone) result_.recording.operations[at].gated = true;
}

void RecordedRank::add(const trace::AllocationRow& row) {
  std::vector<RecordedAllocation>& all = result_.recording.allocations;
  if (!may_be_planned(row)) return allocations_.add(row.id, kNotPlanned);
  allocations_.add(row.id, static_cast<std::uint32_t>(all.size()));
  all.push_back({row.id, std::max(row.reserved_bytes, row.bytes), row.alloc_ns, row.free_ns, row.movable != 0,
                 row.bytes, row.captured != 0});
}

void RecordedRank::name(std::int64_t allocation, std::uint32_t label) {
  const std::uint32_t at = allocations_.find(allocation);
  if (at < kNotPlanned) result_.recording.allocations[at].label = label;
}

void RecordedRank::add(const trace::AccessRow& row) {
  const std::uint32_t operation = operations_.find(row.operation);
  if (operation == IdIndex::kNone) return;
  const std::uint32_t at = allocations_.find(row.allocation_id.value_or(0));
  if (at == IdIndex::kNone) {
    ++result_.unknown_accesses;
    return;
  }
  if (at == kNotPlanned) return;
  RecordedAllocation& allocation = result_.recording.allocations[at];
  if (row.known_by == trace::KnownBy::kTable) {
    // Device memory holds its address from now on, and kernels may follow it unseen.
    allocation.stays = true;
    allocation.movable = false;
    return;
  }
  if (row.known_by == trace::KnownBy::kPages) {
    // Known is the first access: what was read first may be written later, and what was written first need
    // not be written everywhere.
    const bool written = row.kind == trace::AccessKind::kWrite || row.kind == trace::AccessKind::kReadWrite;
    if (!row.argument_offset) {
      // Reached by a pointer in device memory, as those that a table names: it is used here, and it stays.
      allocation.stays = true;
      allocation.movable = false;
    }
    result_.recording.accesses.push_back(
        {operation, at, written ? AccessKind::kUpdate : AccessKind::kMayTouch});
    return;
  }
  if (row.known_by == trace::KnownBy::kGraph) {  // the runtime keeps it while the graph lives
    allocation.stays = true;
    allocation.movable = false;
  }
  const bool whole = row.offset == 0 && row.bytes.value_or(0) >= allocation.requested;
  result_.recording.accesses.push_back({operation, at, access_kind(row.kind, whole)});
}

SessionRecording RecordedRank::finish(const NamePool& names) {
  const auto before = [](const RecordedAccess& a, const RecordedAccess& b) {
    return a.operation < b.operation;
  };
  std::vector<RecordedAccess>& accesses = result_.recording.accesses;
  if (!std::is_sorted(accesses.begin(), accesses.end(), before))
    std::stable_sort(accesses.begin(), accesses.end(), before);
  result_.recording.names = names;
  return std::move(result_);
}

}  // namespace tferry::analyzer
