#include "gui/report/panel_reports.hpp"
#include "gui/session/plan_lane.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace tferry::gui {
namespace {

/// After the start of an iteration, by tensor: when the plan first wants it back.
std::map<std::string, double> first_wanted(trace::Session& session, std::int64_t plan) {
  std::map<std::string, double> first;
  const auto iteration = session.first<trace::IterationRow>(
      "WHERE regular = 1 AND process_id = (SELECT process_id FROM plan WHERE id = ?) ORDER BY number", plan);
  if (!iteration) return first;
  PlanTimes times(session, plan);
  for (const PlannedMove& move : times.of(iteration->id)) {
    if (move.kind != trace::TransferKind::kFetch) continue;
    const std::string name = move.tensor.empty() ? "tensor " + std::to_string(move.tensor_id) : move.tensor;
    const auto after = static_cast<double>(move.start_ns - iteration->start_ns);
    const auto [place, is_new] = first.try_emplace(name, after);
    if (!is_new) place->second = std::min(place->second, after);
  }
  return first;
}

/// What the newest plan of the session moves of each tensor, in every iteration.
cli::Table planned(const cli::Scope& scope) {
  cli::Table table("late", "Planned: moved in every iteration under the newest plan",
                   {{"tensor"},
                    {"fetches", cli::Unit::kCount},
                    {"bytes", cli::Unit::kBytes},
                    {"first_wanted_after", cli::Unit::kNanoseconds}});
  const auto plan = scope.value<std::int64_t>("SELECT max(id) FROM plan WHERE " +
                                              scope.condition("process_id", "device_id", ""));
  if (!plan) return table;
  const std::map<std::string, double> wanted = first_wanted(scope.session(), *plan);
  scope.select(
      "SELECT coalesce(tensor, 'tensor ' || tensor_id), count(*), sum(bytes) FROM "
      "plan_action WHERE plan_id = " +
          std::to_string(*plan) + " AND kind = 2 GROUP BY 1 ORDER BY 3 DESC",
      [&](trace::Statement& row) {
        std::optional<double> first;
        if (const auto at = wanted.find(row.shown(0)); at != wanted.end()) first = at->second;
        table.add(cli::KnownBy::kSimulated, {row.shown(0), row.integer(1), row.integer(2), first});
      });
  return table;
}

/// What the runtime did, and how long operations waited for it. A gate's time is shared out by bytes among
/// the fetches that were made on behalf of its operation.
cli::Table actual(const cli::Scope& scope) {
  cli::Table table("late", "Actual: what the runtime moved, and the time lost per tensor",
                   {{"tensor"},
                    {"evictions", cli::Unit::kCount},
                    {"fetches", cli::Unit::kCount},
                    {"late", cli::Unit::kCount},
                    {"fetched", cli::Unit::kBytes},
                    {"waited", cli::Unit::kNanoseconds}});
  scope.select(
      "WITH wait AS (SELECT process_id AS p, operation AS o, sum(end_ns - start_ns) AS ns FROM gate GROUP BY "
      "1, 2), "
      "share AS (SELECT process_id AS p, operation AS o, sum(bytes) AS bytes FROM swap WHERE kind = 2 AND "
      "operation IS "
      "NOT NULL GROUP BY 1, 2), named AS (SELECT allocation_id AS a, min(coalesce(tensor.name, 'tensor ' || "
      "tensor.id)) "
      "AS name FROM tensor_allocation JOIN tensor ON tensor.id = tensor_id GROUP BY 1) "
      "SELECT coalesce(named.name, 'allocation ' || allocation.allocation, '-'), sum(swap.kind = 1), "
      "sum(swap.kind = 2), "
      "sum(swap.kind = 2 AND wait.ns IS NOT NULL), sum(CASE WHEN swap.kind = 2 THEN swap.bytes ELSE 0 END), "
      "sum(CASE "
      "WHEN swap.kind = 2 THEN coalesce(wait.ns * 1.0 * swap.bytes / share.bytes, 0) ELSE 0 END) FROM swap "
      "LEFT JOIN "
      "allocation ON allocation.id = swap.allocation_id LEFT JOIN named ON named.a = swap.allocation_id LEFT "
      "JOIN wait ON "
      "wait.p = swap.process_id AND wait.o = swap.operation LEFT JOIN share ON share.p = swap.process_id AND "
      "share.o = "
      "swap.operation WHERE " +
          scope.condition("swap.process_id", "swap.device_id", "submit_ns") +
          " GROUP BY 1 ORDER BY 6 DESC, 5 DESC",
      [&](trace::Statement& row) {
        table.add(cli::KnownBy::kMeasured, {row.shown(0), row.integer(1), row.integer(2), row.integer(3),
                                            row.integer(4), row.real(5)});
      });
  if (table.rows.empty()) {
    table.notes.emplace_back(
        "nothing was moved while this session was recorded; tferry profile --budget records a job while it "
        "parks");
  } else {
    table.notes.emplace_back("late: an operation waited for it; in the timeline these have a mark");
  }
  return table;
}

}  // namespace

std::vector<cli::Table> report_late(const cli::Scope& scope) { return {actual(scope), planned(scope)}; }

}  // namespace tferry::gui
