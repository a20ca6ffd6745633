#include "gui/session/moves_lane.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/session/plan_lane.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tferry::gui {
namespace {

/// Operations that waited for memory, by the operation and by what they touch.
class Waits {
 public:
  Waits(trace::Session& session, TimeRange range) {
    select(
        session,
        "SELECT gate.process_id, gate.operation, access.allocation_id, gate.start_ns, gate.end_ns FROM gate "
        "LEFT JOIN access ON access.process_id = gate.process_id AND access.operation = gate.operation WHERE "
        "gate.end_ns >= ? AND gate.start_ns < ?",
        [&](trace::Statement& row) {
          const TimeRange wait{row.integer(3), row.integer(4)};
          by_operation_.insert_or_assign({row.integer(0), row.integer(1)}, wait);
          if (!row.is_null(2)) by_allocation_[{row.integer(0), row.integer(2)}].push_back(wait);
        },
        range.from_ns, range.to_ns);
  }

  /// Of a fetch that was there at `end_ns`.
  std::int64_t late_ns(const trace::SwapRow& swap, std::int64_t start_ns, std::int64_t end_ns) const {
    if (swap.kind != trace::TransferKind::kFetch) return 0;
    std::int64_t most = 0;
    const auto take = [&](const TimeRange& wait) {
      if (wait.from_ns < end_ns && start_ns < wait.to_ns)
        most = std::max(most, std::min(end_ns, wait.to_ns) - wait.from_ns);
    };
    if (const auto wait = by_operation_.find({swap.process_id, swap.operation.value_or(-1)});
        wait != by_operation_.end())
      take(wait->second);
    if (const auto waits = by_allocation_.find({swap.process_id, swap.allocation_id.value_or(-1)});
        waits != by_allocation_.end())
      std::for_each(waits->second.begin(), waits->second.end(), take);
    return most;
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::map<Key, TimeRange> by_operation_;
  std::map<Key, std::vector<TimeRange>> by_allocation_;
};

trace::SwapRow swap_of(const trace::Statement& row) {
  trace::SwapRow swap;
  swap.process_id = row.integer(0);
  swap.id = row.integer(2);
  swap.bytes = row.integer(5);
  swap.kind = static_cast<trace::TransferKind>(row.integer(6));
  row.get(7, swap.operation);
  row.get(8, swap.allocation_id);
  return swap;
}

std::string moves(const char* rest) {
  std::string sql =
      "SELECT swap.process_id, swap.device_id, swap.id, coalesce(memcpy.start_ns, submit_ns) AS s, "
      "coalesce(memcpy.end_ns, submit_ns), swap.bytes, swap.kind, swap.operation, allocation_id FROM swap "
      "LEFT "
      "JOIN memcpy ON memcpy.id = memcpy_id ";
  sql += rest;
  return sql;
}

}  // namespace

void read_moves(
    trace::Session& session, TimeRange submitted,
    const std::function<void(std::int64_t process_id, std::int64_t device_id, const Item& item)>& add) {
  const Waits waits(session, submitted);
  select(
      session, moves("WHERE submit_ns >= ? AND submit_ns < ? ORDER BY s"),
      [&](trace::Statement& row) {
        const trace::SwapRow swap = swap_of(row);
        Item item;
        item.table = EventTable::kSwap;
        item.id = swap.id;
        item.start_ns = row.integer(3);
        item.end_ns = std::max(row.integer(4), item.start_ns);
        item.bytes = swap.bytes;
        item.tone = static_cast<std::uint8_t>(swap.kind);
        item.row = comes_in(swap.kind) ? 1 : 0;
        item.late_ns = waits.late_ns(swap, item.start_ns, item.end_ns);
        add(swap.process_id, row.integer(1), item);
      },
      submitted.from_ns, submitted.to_ns);
}

std::int64_t late_ns(trace::Session& session, std::int64_t swap_id) {
  std::int64_t late = 0;
  select(
      session, moves("WHERE swap.id = ?"),
      [&](trace::Statement& row) {
        const TimeRange ran{row.integer(3), row.integer(4)};
        late = Waits(session, {ran.from_ns, ran.to_ns + 1}).late_ns(swap_of(row), ran.from_ns, ran.to_ns);
      },
      swap_id);
  return late;
}

}  // namespace tferry::gui
