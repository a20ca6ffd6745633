#include "gui/report/panel_reports.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace tferry::gui {
namespace {

constexpr cli::KnownBy kMeasured = cli::KnownBy::kMeasured, kSimulated = cli::KnownBy::kSimulated,
                       kUnknown = cli::KnownBy::kUnknown;

std::optional<double> as_real(const std::optional<std::int64_t>& ns) {
  if (!ns) return std::nullopt;
  return static_cast<double>(*ns);
}

/// Builds one table whose parts add up to its last row. A part is at most what the others before it have
/// left, so that waits that overlap are not counted twice.
class Waterfall {
 public:
  Waterfall(const std::string& title, double total)
      : table_("waterfall", title,
               {{"part"},
                {"time", cli::Unit::kNanoseconds},
                {"of_all", cli::Unit::kShare},
                {"adds_up_to", cli::Unit::kNanoseconds},
                {"how"}}),
        total_(total) {}

  void part(const char* name, std::optional<double> ns, cli::KnownBy known, const char* how) {
    if (!ns) {
      cli::Cell unknown;
      table_.add(kUnknown, {name, unknown, unknown, cli::Cell(sum_), how});
      return;
    }
    const double taken = std::clamp(*ns, 0.0, std::max(0.0, total_ - sum_));
    sum_ += taken;
    table_.add(known, {name, taken, share(taken), sum_, how});
  }
  /// What is left; negative where the parts are more than the whole, as when a run was faster than its bound
  /// says.
  void rest(const char* name, const char* how) {
    const double left = total_ - sum_;
    sum_ = total_;
    table_.add(kMeasured, {name, left, share(left), sum_, how});
  }
  cli::Table finish(const char* name, cli::KnownBy known) {
    table_.add(known, {name, total_, share(total_), total_, "all parts together"});
    return std::move(table_);
  }

 private:
  double share(double ns) const { return total_ > 0 ? ns / total_ : 0; }

  cli::Table table_;
  double total_;
  double sum_ = 0;
};

/// Kernels stood still while transfers lost time to others, per iteration.
std::optional<double> contention(const cli::Scope& scope, std::int64_t process, std::int64_t device) {
  const std::string rank = " process_id = " + std::to_string(process) +
                           " AND device_id = " + std::to_string(device) + " AND iteration_id IS NOT NULL";
  const auto iterations =
      scope.value<std::int64_t>("SELECT count(DISTINCT iteration_id) FROM transfer WHERE" + rank);
  if (iterations.value_or(0) == 0) return std::nullopt;
  const auto lost =
      scope.value<double>("SELECT sum(min(lost_ns, coalesce(exposed_ns, 0))) FROM transfer WHERE" + rank);
  if (!lost) return std::nullopt;
  return *lost / static_cast<double>(*iterations);
}

/// Iterations off the plan were longer: by how much, shared out over all.
std::optional<double> off_plan(const trace::RunRow& run) {
  if (run.departures && *run.departures == 0) return 0.0;
  if (run.iterations && run.iterations_followed && *run.iterations == *run.iterations_followed) return 0.0;
  return std::nullopt;
}

cli::Table of_run(const cli::Scope& scope, const trace::RunRow& run) {
  const auto total = static_cast<double>(*run.iteration_ns);
  Waterfall waterfall("A measured iteration of GPU " + scope.gpu_name(run.device_id) + " under " +
                          (run.plan_id ? "plan " + std::to_string(*run.plan_id) : run.policy),
                      total);
  const std::optional<double> in_memory = as_real(run.in_memory_ns), bound = as_real(run.bound_ns);
  std::optional<double> forced, late;
  if (in_memory && bound) forced = *bound - *in_memory;
  if (run.wait_ns && forced) late = static_cast<double>(*run.wait_ns) - *forced;
  waterfall.part("in memory", in_memory, kMeasured, "its kernels alone");
  waterfall.part("forced bytes", forced, kSimulated, "the bound: no plan moves less or sooner");
  waterfall.part("late fetches", late, kMeasured, "waits for memory beyond what the bound forces");
  waterfall.part("contention", contention(scope, run.process_id, run.device_id.value_or(0)), kMeasured,
                 "transfers lost it to others while no kernel ran");
  waterfall.part("off plan", off_plan(run), kMeasured, "operations that the plan does not know");
  waterfall.rest("overhead",
                 "what is left: the runtime, the plan's own waits, and whatever is unknown above");
  return waterfall.finish("measured", kMeasured);
}

cli::Table of_plan(const cli::Scope& scope, const trace::PlanRow& plan) {
  const auto total = static_cast<double>(*plan.predicted_ns);
  Waterfall waterfall("An iteration of GPU " + scope.gpu_name(plan.device_id) + " under plan " +
                          std::to_string(plan.id) + ", simulated",
                      total);
  const std::optional<double> in_memory = as_real(plan.in_memory_ns), bound = as_real(plan.bound_ns);
  std::optional<double> forced;
  if (in_memory && bound) forced = *bound - *in_memory;
  waterfall.part("in memory", in_memory, kMeasured, "its kernels alone");
  waterfall.part("forced bytes", forced, kSimulated, "the bound: no plan moves less or sooner");
  waterfall.part("late fetches", total - bound.value_or(total), kSimulated,
                 "the plan's own, above the bound");
  return waterfall.finish("predicted", kSimulated);
}

}  // namespace

std::vector<cli::Table> report_waterfall(const cli::Scope& scope) {
  std::vector<cli::Table> tables;
  const std::string where = "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY id DESC";
  for (const auto& run : scope.session().rows<trace::RunRow>(where)) {
    if (run.iteration_ns.value_or(0) > 0) tables.push_back(of_run(scope, run));
  }
  const bool measured = !tables.empty();
  for (const auto& plan : scope.session().rows<trace::PlanRow>(where)) {
    if (plan.predicted_ns.value_or(0) > 0) tables.push_back(of_plan(scope, plan));
  }
  if (tables.empty())
    tables.emplace_back("waterfall", "Where an iteration's time goes", std::vector<cli::Column>{{"part"}});
  if (!measured)
    tables.front().notes.emplace_back(
        "unknown: what a run under a plan takes; tferry run --plan SESSION keeps it in a session of its own");
  return tables;
}

}  // namespace tferry::gui
