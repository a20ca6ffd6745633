#include "analyzer/planner/budget_curve.hpp"
#include "analyzer/session/analysis.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tferry::gui {
namespace {

/// Reading all operations again takes seconds a million of them; the window's answers shall not take longer.
constexpr std::int64_t kMostOperations = 500'000;
constexpr int kRounds = 60;             // of each point's plan, as tferry analyze --curve takes
constexpr double kRead = 0.15;          // of the time, about, to read all operations again
constexpr double kHardlySlower = 1.05;  // of the time with everything in memory

cli::Table stored(const cli::Scope& scope) {
  cli::Table table("curve", "Plans and runs of this session",
                   {{"what"},
                    {"gpu"},
                    {"plan"},
                    {"budget", cli::Unit::kBytes},
                    {"time", cli::Unit::kNanoseconds},
                    {"bound", cli::Unit::kNanoseconds}});
  const std::string where = "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY id";
  for (const auto& row : scope.session().rows<trace::PlanRow>(where)) {
    table.add(cli::KnownBy::kSimulated, {"plan", scope.gpu_name(row.device_id), row.id, row.budget_bytes,
                                         row.predicted_ns, row.bound_ns});
  }
  for (const auto& row : scope.session().rows<trace::RunRow>(where)) {
    table.add(cli::KnownBy::kMeasured, {"run", scope.gpu_name(row.device_id), row.plan_id, row.budget_bytes,
                                        row.iteration_ns, row.bound_ns});
  }
  if (!table.rows.empty()) table.notes.emplace_back("Enter on a row, or a click on its dot, shows that plan");
  return table;
}

void add_rank(const cli::Scope& scope, const analyzer::RankAnalysis& rank, cli::Table& table,
              const Step& step) {
  const std::string gpu = scope.gpu_name(rank.source.device_id);
  std::int64_t smallest = 0;
  double in_memory = 0;
  for (const analyzer::CurvePoint& point : analyzer::budget_curve(rank.typical->workload, kRounds, step)) {
    const std::int64_t budget = point.budget + rank.typical->resident_bytes;
    table.add(cli::KnownBy::kSimulated,
              {gpu, point.oversubscription, budget, point.bound_ns, point.lms_ns, point.planned_ns});
    if (in_memory == 0) in_memory = point.planned_ns;
    if (point.planned_ns <= kHardlySlower * in_memory) smallest = budget;
  }
  if (smallest > 0)
    table.notes.push_back("GPU " + gpu + ": down to " +
                          bytes_text(static_cast<double>(smallest)).toStdString() +
                          " an iteration is at most 5 % longer than in memory (simulated)");
}

}  // namespace

std::vector<cli::Table> report_curve(const cli::Scope& scope, const Step& step) {
  const auto told = [&](double share) {
    if (step) step(share);
  };
  cli::Table table("curve", "An iteration by budget",
                   {{"gpu"},
                    {"footprint_over_budget"},
                    {"budget", cli::Unit::kBytes},
                    {"bound", cli::Unit::kNanoseconds},
                    {"lms", cli::Unit::kNanoseconds},
                    {"lookahead", cli::Unit::kNanoseconds}});
  if (scope.session().integer("SELECT count(*) FROM (SELECT 1 FROM kernel LIMIT 500001)") > kMostOperations) {
    table.notes.emplace_back("unknown: that many kernels take too long here; run tferry analyze --curve");
  } else {
    analyzer::AnalysisOptions options;
    options.oversubscription = 1.5;  // any: it is the workload that is wanted
    options.plan = false;
    told(0.02);
    const std::vector<analyzer::RankAnalysis> ranks = analyzer::analyze_session(scope.session(), options);
    const auto count = static_cast<double>(std::max<std::size_t>(1, ranks.size()));
    double done = 0;
    for (const analyzer::RankAnalysis& rank : ranks) {
      if (!scope.includes(rank.source.process_id, rank.source.device_id)) continue;
      if (rank.bound && rank.typical) {
        add_rank(scope, rank, table,
                 [&](double share) { told(kRead + (1 - kRead) * (done + share) / count); });
        ++done;
      } else {
        for (const std::string& why : rank.unknown) table.notes.push_back("unknown: " + why);
      }
    }
    if (table.rows.empty() && table.notes.empty())
      table.notes.emplace_back(
          "unknown: no iteration with accesses to memory was recorded; tferry profile records them");
  }
  std::vector<cli::Table> tables = {table};
  if (cli::Table plans = stored(scope); !plans.rows.empty()) tables.push_back(std::move(plans));
  return tables;
}

}  // namespace tferry::gui
