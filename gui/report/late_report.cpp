#include "gui/report/panel_reports.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/session/plan_lane.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct Moved {
  std::int64_t evictions = 0, fetches = 0, late = 0, fetched = 0, lost_ns = 0;
};

/// Of allocations, as the analysis calls them.
std::map<std::int64_t, std::string> names(const cli::Scope& scope) {
  std::map<std::int64_t, std::string> names;
  const auto add = [&](trace::Statement& row) { names.try_emplace(row.integer(0), row.shown(1)); };
  scope.select(
      "SELECT allocation_id, min(coalesce(tensor.name, 'tensor ' || tensor.id)) FROM tensor_allocation JOIN "
      "tensor ON tensor.id = tensor_id GROUP BY 1",
      add);
  scope.select("SELECT id, 'allocation ' || allocation FROM allocation", add);
  return names;
}

/// What the runtime did, and how long operations waited for it.
cli::Table actual(const cli::Scope& scope) {
  cli::Table table("late", "Actual: what the runtime moved, and the time lost per tensor",
                   {{"tensor"},
                    {"evictions", cli::Unit::kCount},
                    {"fetches", cli::Unit::kCount},
                    {"late", cli::Unit::kCount},
                    {"fetched", cli::Unit::kBytes},
                    {"waited", cli::Unit::kNanoseconds}});
  const std::map<std::int64_t, std::string> known = names(scope);
  std::map<std::string, Moved> by_name;
  const auto add = [&](const MoveLoss& move) {
    const auto name = known.find(move.allocation_id);
    Moved& moved = by_name[name == known.end() ? "-" : name->second];
    moved.evictions += move.kind == trace::TransferKind::kPark;
    if (move.kind != trace::TransferKind::kFetch) return;
    ++moved.fetches;
    moved.late += move.late_ns > 0;
    moved.fetched += move.bytes;
    moved.lost_ns += move.lost_ns;
  };
  const std::int64_t others =
      read_move_losses(scope.session(), scope.condition("swap.process_id", "swap.device_id", "submit_ns"),
                       scope.condition("gate.process_id", "gate.device_id", "gate.start_ns"), add);
  std::vector<std::pair<std::string, Moved>> rows(by_name.begin(), by_name.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.lost_ns, a.second.fetched) > std::pair(b.second.lost_ns, b.second.fetched);
  });
  for (const auto& [name, moved] : rows)
    table.add(cli::KnownBy::kMeasured,
              {name, moved.evictions, moved.fetches, moved.late, moved.fetched, moved.lost_ns});
  if (table.rows.empty()) {
    table.notes.emplace_back(
        "nothing was moved while this session was recorded; tferry run --plan and tferry profile --budget "
        "record a job while it parks");
    return table;
  }
  const auto iterations = scope.value<std::int64_t>("SELECT count(*) FROM iteration").value_or(0);
  table.notes.emplace_back(
      "late: an operation waited for it; in the timeline these have a mark" +
      (iterations > 0 ? "; told of all that was recorded, with " + std::to_string(iterations) + " iterations"
                      : std::string()));
  if (others > 0)
    table.notes.emplace_back("beside these, operations waited " + duration_text(others).toStdString() +
                             " for room, or for operations before them");
  return table;
}

}  // namespace

std::vector<cli::Table> report_late(const cli::Scope& scope) { return {actual(scope), planned(scope)}; }

}  // namespace tferry::gui
