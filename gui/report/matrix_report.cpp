#include "cli/report/iteration_times.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/session/contention_lanes.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>

namespace tferry::gui {
namespace {

using Side = std::pair<std::int64_t, std::int64_t>;  // process, device

/// Iterations of each side; what was lost is told per iteration where they are known.
std::map<Side, double> iterations(const cli::Scope& scope) {
  std::map<Side, double> counts;
  for (const cli::IterationTimes& rank : cli::iteration_times(scope))
    counts[{rank.process_id, rank.device_id.value_or(0)}] = static_cast<double>(rank.iterations);
  return counts;
}

struct Lost {
  std::map<std::string, double> by_culprit;
  double sum = 0;
};

}  // namespace

std::vector<cli::Table> report_matrix(const cli::Scope& scope) {
  const std::map<Side, double> counts = iterations(scope);
  const bool each = !counts.empty();
  std::map<std::string, Lost> victims;
  std::vector<std::string> gpus, others;  // columns
  cli::KnownBy known = cli::KnownBy::kMeasured;
  scope.select(
      std::string(
          "SELECT victim_process_id, victim_device_id, culprit_device_id, resource, sum(CASE WHEN "
          "iteration_id "
          "IS NOT NULL THEN lost_ns ELSE 0 END), sum(lost_ns), min(known_by) FROM contention WHERE ") +
          kLostWhileRunning + " AND " + scope.condition("victim_process_id", "victim_device_id", "start_ns") +
          " GROUP BY 1, 2, 3, 4 ORDER BY 2, 3",
      [&](trace::Statement& row) {
        const auto count = counts.find({row.integer(0), row.integer(1)});
        if (each && (count == counts.end() || count->second == 0)) return;
        const double lost = each ? row.real(4) / count->second : row.real(5);
        const bool gpu = !row.is_null(2);
        const std::string whom =
            gpu ? "GPU " + scope.gpu_name(row.integer(2)) : resource_words(row.shown(3)).toStdString();
        std::vector<std::string>& columns = gpu ? gpus : others;
        if (std::find(columns.begin(), columns.end(), whom) == columns.end()) columns.push_back(whom);
        Lost& victim = victims["GPU " + scope.gpu_name(row.integer(1))];
        victim.by_culprit[whom] += lost;
        victim.sum += lost;
        known = cli::known_by_of(row.shown(6));
      });
  std::sort(gpus.begin(), gpus.end());
  gpus.insert(gpus.end(), others.begin(), others.end());
  std::vector<cli::Column> columns = {{"lost_by"}};
  for (const std::string& whom : gpus) columns.push_back({whom, cli::Unit::kNanoseconds});
  columns.push_back({"in_all", cli::Unit::kNanoseconds});
  cli::Table table("matrix",
                   each ? "Time lost per iteration: rows lost it, columns took it"
                        : "Time lost in all: rows lost it, columns took it",
                   columns);
  for (const auto& [name, victim] : victims) {
    std::vector<cli::Cell> cells;
    cells.emplace_back(name);
    for (const std::string& whom : gpus) {
      const auto lost = victim.by_culprit.find(whom);
      cells.emplace_back(lost == victim.by_culprit.end() ? 0.0 : lost->second);
    }
    cells.emplace_back(victim.sum);
    table.add(known, cells);
  }
  if (!scope.session().meta("analysis.created")) {
    table.notes.emplace_back("unknown: not analyzed yet; run tferry analyze");
  } else if (table.rows.empty()) {
    table.notes.emplace_back("no time lost is known");
  } else {
    table.notes.emplace_back("Enter on a cell goes to the window in which most of it was lost");
  }
  std::istringstream unknown(scope.session().meta("contention.unknown").value_or(""));
  for (std::string line; std::getline(unknown, line);) table.notes.push_back("unknown: " + line);
  return {table};
}

}  // namespace tferry::gui
