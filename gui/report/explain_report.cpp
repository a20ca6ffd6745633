#include "gui/report/explain_report.hpp"

#include "analyzer/session/stored_plan.hpp"
#include "cli/failure.hpp"
#include "cli/report/what_if_tables.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace tferry::gui {
namespace {

using cli::Unit;

constexpr double kRead = 0.4;         // of the time, about: reading the recording again
constexpr double kSimulations = 250;  // that a plan takes, about

/// A table that only says why there is nothing in it.
std::vector<cli::Table> only(const char* name, const std::string& title, const std::string& note) {
  cli::Table table(name, title, {{"tensor"}});
  table.notes.push_back(note);
  return {table};
}

/// A number is that of a tensor of this analysis.
std::string full_name(const cli::Scope& scope, const std::string& tensor) {
  // What the program calls it; plans have the analysis's names.
  for (const auto& named :
       scope.session().rows<trace::TensorRow>("WHERE id IN (SELECT tensor_id FROM allocation_name JOIN "
                                              "tensor_allocation USING (allocation_id) WHERE "
                                              "allocation_name.name = ?) LIMIT 1",
                                              tensor)) {
    if (named.name) return *named.name;
  }
  const bool is_number = !tensor.empty() && std::all_of(tensor.begin(), tensor.end(),
                                                        [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (!is_number || tensor.size() > 18) return tensor;
  return scope.value<std::string>("SELECT name FROM tensor WHERE id = " + tensor).value_or(tensor);
}

/// The plan asked for, else the newest that moves the tensor, else the newest.
std::optional<std::int64_t> plan_of(const cli::Scope& scope, const std::string& tensor, std::int64_t plan) {
  if (plan != 0) return plan;
  std::optional<std::int64_t> found;
  for (const auto& action :
       scope.session().rows<trace::PlanActionRow>("WHERE tensor = ? ORDER BY plan_id DESC LIMIT 1", tensor))
    found = action.plan_id;
  return found ? found : scope.value<std::int64_t>("SELECT max(id) FROM plan");
}

cli::Table moves_of(const analyzer::PlacedPlan& placed) {
  cli::Table table("plan", "What moves in every iteration, largest first",
                   {{"tensor"}, {"bytes", Unit::kBytes}, {"leaves_after"}, {"back_before"}});
  std::vector<analyzer::PlanAction> actions = placed.plan.actions;
  std::stable_sort(actions.begin(), actions.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  const auto operations = static_cast<std::int64_t>(placed.workload.workload.operations.size());
  for (const analyzer::PlanAction& action : actions) {
    const std::int64_t back = std::int64_t{action.needed_by} % std::max<std::int64_t>(1, operations);
    table.add(
        cli::KnownBy::kSimulated,
        {placed.workload.workload.tensors[action.tensor].name, action.bytes, std::int64_t{action.leave_after},
         action.returns ? cli::Cell(back) : cli::Cell("never: freed while away")});
  }
  if (actions.empty()) table.notes.emplace_back("nothing: everything fits");
  return table;
}

}  // namespace

std::vector<cli::Table> report_why(const cli::Scope&) {
  return only("why", "Why a plan moves a tensor, or lets it stay",
              "X on a tensor asks: on its row in tensors, plan, late or memory, or on its lane");
}

std::vector<cli::Table> explain_tensor_of_plan(const cli::Scope& scope, const std::string& tensor,
                                               std::int64_t plan, const Step& step) {
  const std::string name = full_name(scope, tensor), title = "Why " + name + " moves, or stays";
  const auto id = plan_of(scope, name, plan);
  if (!id)
    return only("why", title,
                "unknown: there is no plan; run tferry analyze --budget SIZE or --oversubscribe 1.5");
  step(0.02);
  try {
    const analyzer::StoredPlan stored = analyzer::load_plan(scope.session(), *id);
    step(0.8);
    analyzer::RankAnalysis rank;
    rank.placed = stored.placed;
    cli::Table table = cli::explain_table(std::span(&rank, 1), name);
    table.name = "why";
    table.title = "Why plan " + std::to_string(*id) + " moves " + name + ", or lets it stay";
    table.notes.emplace_back(
        "a row for each gap between two uses; otherwise: how much longer an iteration would be "
        "if it were done the other way round");
    return {table};
  } catch (const analyzer::PlanError& error) {
    return only("why", title, std::string("unknown: ") + error.what() + "; " + error.remedy());
  } catch (const cli::Failure& failure) {
    return only("why", title, std::string("unknown: ") + failure.what() + "; " + failure.remedy());
  }
}

std::vector<cli::Table> plan_for_budget(const cli::Scope& scope, std::int64_t budget_bytes,
                                        const Step& step) {
  cli::Table table("plan",
                   "A plan for " + bytes_text(static_cast<double>(budget_bytes)).toStdString() +
                       ", made now and stored nowhere",
                   {{"gpu"},
                    {"budget", Unit::kBytes},
                    {"time", Unit::kNanoseconds},
                    {"bound", Unit::kNanoseconds},
                    {"over_bound", Unit::kShare},
                    {"out", Unit::kBytes},
                    {"in", Unit::kBytes}});
  analyzer::AnalysisOptions options;
  options.budget_bytes = budget_bytes;
  double simulations = 0;
  options.planner.on_simulation = [&] {
    step(kRead + (1 - kRead) * (1 - std::exp(-++simulations / kSimulations)));
  };
  step(0.02);
  std::vector<cli::Table> moves;
  for (const analyzer::RankAnalysis& rank : analyzer::analyze_session(scope.session(), options)) {
    if (!scope.includes(rank.source.process_id, rank.source.device_id)) continue;
    for (const std::string& why : rank.unknown) table.notes.push_back("unknown: " + why);
    if (!rank.placed || !rank.bound) continue;
    const double time = rank.placed->plan.predicted_ns, bound = rank.bound->time_ns;
    table.add(cli::KnownBy::kSimulated, {scope.gpu_name(rank.source.device_id), budget_bytes, time, bound,
                                         bound > 0 ? time / bound - 1 : 0.0, rank.placed->placement.bytes_out,
                                         rank.placed->placement.bytes_in});
    moves.push_back(moves_of(*rank.placed));
  }
  table.notes.push_back("to keep it: tferry analyze --budget " + std::to_string(budget_bytes) + " " +
                        scope.session().path());
  moves.insert(moves.begin(), std::move(table));
  return moves;
}

}  // namespace tferry::gui
