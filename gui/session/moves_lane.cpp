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
  /// `where`: an SQL condition on table `gate`.
  template <typename... Parameters>
  Waits(trace::Session& session, const std::string& where, const Parameters&... parameters) {
    std::int64_t last = 0;  // rows of one gate follow each other
    select(
        session,
        "SELECT gate.rowid, gate.process_id, gate.operation, access.allocation_id, gate.start_ns, "
        "gate.end_ns FROM gate LEFT JOIN access ON access.process_id = gate.process_id AND "
        "access.operation = gate.operation WHERE " +
            where,
        [&](trace::Statement& row) {
          if (row.integer(0) != last) {
            last = row.integer(0);
            by_operation_[{row.integer(1), row.integer(2)}].push_back(waits_.size());
            waits_.push_back({{row.integer(4), row.integer(5)}, row.integer(4)});
          }
          if (!row.is_null(3)) by_allocation_[{row.integer(1), row.integer(3)}].push_back(waits_.size() - 1);
        },
        parameters...);
  }

  /// Of a fetch that was there at `end_ns`.
  std::int64_t late_ns(const trace::SwapRow& swap, std::int64_t start_ns, std::int64_t end_ns) {
    std::int64_t most = 0;
    for_each(swap, start_ns, end_ns, [&](const Wait& wait) {
      most = std::max(most, std::min(end_ns, wait.range.to_ns) - wait.range.from_ns);
    });
    return most;
  }

  /// The same, without what earlier fetches were told already. Fetches have to come in order.
  std::int64_t lost_ns(const trace::SwapRow& swap, std::int64_t start_ns, std::int64_t end_ns) {
    std::int64_t lost = 0;
    for_each(swap, start_ns, end_ns, [&](Wait& wait) {
      const std::int64_t until = std::min(end_ns, wait.range.to_ns);
      lost += std::max<std::int64_t>(0, until - wait.explained_to);
      wait.explained_to = std::max(wait.explained_to, until);
    });
    return lost;
  }

  std::int64_t unexplained_ns() const {
    std::int64_t sum = 0;
    for (const Wait& wait : waits_) sum += wait.range.to_ns - wait.explained_to;
    return sum;
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  ///< process; operation or allocation
  using Index = std::map<Key, std::vector<std::size_t>>;
  struct Wait {
    TimeRange range;
    std::int64_t explained_to = 0;
  };

  /// Waits of the operation that the fetch was for, and of those that touch the same allocation, meanwhile.
  template <typename Visit>
  void for_each(const trace::SwapRow& swap, std::int64_t start_ns, std::int64_t end_ns, Visit visit) {
    if (swap.kind != trace::TransferKind::kFetch) return;
    const auto look = [&](const Index& index, std::int64_t key) {
      const auto found = index.find({swap.process_id, key});
      if (found == index.end()) return;
      for (const std::size_t i : found->second) {
        if (waits_[i].range.from_ns < end_ns && start_ns < waits_[i].range.to_ns) visit(waits_[i]);
      }
    };
    look(by_operation_, swap.operation.value_or(-1));
    look(by_allocation_, swap.allocation_id.value_or(-1));
  }

  std::vector<Wait> waits_;
  Index by_operation_, by_allocation_;
};

const char* const kInRange = "gate.end_ns >= ? AND gate.start_ns < ?";

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
  Waits waits(session, kInRange, submitted.from_ns, submitted.to_ns);
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
        late = Waits(session, kInRange, ran.from_ns, ran.to_ns + 1)
                   .late_ns(swap_of(row), ran.from_ns, ran.to_ns);
      },
      swap_id);
  return late;
}

std::int64_t read_move_losses(trace::Session& session, const std::string& of_swaps,
                              const std::string& of_gates, const std::function<void(const MoveLoss&)>& add) {
  Waits waits(session, of_gates);
  select(session, moves(("WHERE " + of_swaps + " ORDER BY s").c_str()), [&](trace::Statement& row) {
    const trace::SwapRow swap = swap_of(row);
    const TimeRange ran{row.integer(3), row.integer(4)};
    add({swap.kind, swap.allocation_id.value_or(0), swap.bytes, waits.late_ns(swap, ran.from_ns, ran.to_ns),
         waits.lost_ns(swap, ran.from_ns, ran.to_ns)});
  });
  return waits.unexplained_ns();
}

}  // namespace tferry::gui
