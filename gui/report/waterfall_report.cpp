#include "gui/report/panel_reports.hpp"
#include "gui/time/time_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tferry::gui {
namespace {

constexpr cli::KnownBy kMeasured = cli::KnownBy::kMeasured, kSimulated = cli::KnownBy::kSimulated,
                       kUnknown = cli::KnownBy::kUnknown;

std::optional<double> as_real(const std::optional<std::int64_t>& ns) {
  if (!ns) return std::nullopt;
  return static_cast<double>(*ns);
}

/// Where a part of an iteration comes from: its time, if it is known, and how.
struct Part {
  std::optional<double> ns;
  cli::KnownBy known = kUnknown;
  std::string how;
};

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

  void part(const char* name, const Part& part) {
    if (!part.ns) {
      cli::Cell unknown;
      table_.add(kUnknown, {name, unknown, unknown, cli::Cell(sum_), part.how});
      return;
    }
    const double taken = std::clamp(*part.ns, 0.0, std::max(0.0, total_ - sum_));
    sum_ += taken;
    table_.add(part.known, {name, taken, share(taken), sum_, part.how});
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
Part contention(const cli::Scope& scope, std::int64_t process, std::int64_t device) {
  const std::string rank = " process_id = " + std::to_string(process);
  const auto iterations = scope.value<std::int64_t>("SELECT count(*) FROM iteration WHERE" + rank);
  if (!scope.session().meta("analysis.created") || iterations.value_or(0) == 0)
    return {std::nullopt, kUnknown,
            "unknown: no copies were recorded; tferry profile does, under a budget, too"};
  const std::string of_rank = " FROM transfer WHERE" + rank + " AND device_id = " + std::to_string(device) +
                              " AND iteration_id IS NOT NULL";
  if (scope.value<std::int64_t>("SELECT count(*)" + of_rank).value_or(0) == 0) {
    const auto copies = scope.value<std::int64_t>(
        "SELECT count(*) FROM memcpy JOIN iteration USING (process_id) WHERE" + rank +
        " AND memcpy.kind IN (1, 2, 5) AND memcpy.start_ns < iteration.end_ns AND "
        "memcpy.end_ns > iteration.start_ns");
    if (copies.value_or(0) > 0)
      return {std::nullopt, kUnknown, "unknown: the copies have not been analyzed; run tferry analyze"};
    return {0.0, kMeasured, "no transfer ran in an iteration"};
  }
  const auto lost = scope.value<double>("SELECT sum(min(lost_ns, coalesce(exposed_ns, 0)))" + of_rank);
  if (!lost)
    return {std::nullopt, kUnknown, "unknown: how long transfers take alone; tferry calibrate measures that"};
  return {*lost / static_cast<double>(*iterations), kMeasured,
          "transfers lost it to others while no kernel ran"};
}

/// What iterations that were not exactly the plan's took, where the run timed them.
struct OffPlan {
  std::int64_t iterations = 0, on_plan = 0, ns = 0;

  explicit OffPlan(trace::Session& session) {
    const auto read = [&](const char* key) { return std::atoll(session.meta(key).value_or("0").c_str()); };
    iterations = read("off_plan.iterations");
    on_plan = read("on_plan.iterations");
    ns = read("off_plan.iteration_ns");
  }
  /// By how much they make an iteration longer on average than one that follows the plan.
  double more_than(double followed_ns) const {
    const auto part = static_cast<double>(iterations), all = static_cast<double>(iterations + on_plan);
    return iterations > 0 ? (static_cast<double>(ns) - followed_ns) * part / all : 0;
  }
};

Part off_plan(const trace::RunRow& run, const OffPlan& off, double more) {
  if (off.iterations > 0)
    return {more, kMeasured,
            (count_text(off.iterations) + QStringLiteral(" of ") + count_text(off.iterations + off.on_plan) +
             QStringLiteral(" timed iterations left the plan, and took ") + duration_text(off.ns))
                .toStdString()};
  if (!run.iterations_followed || !run.iterations) {
    if (run.departures && *run.departures == 0) return {0.0, kMeasured, "the job never left the plan"};
    return {std::nullopt, kUnknown, "unknown: the run did not count the iterations that followed the plan"};
  }
  return {0.0, kMeasured,
          "timed are the iterations that followed the plan: " + std::to_string(*run.iterations_followed) +
              " of " + std::to_string(*run.iterations)};
}

Part late_fetches(const trace::RunRow& run, double forced) {
  if (run.wait_ns)
    return {static_cast<double>(*run.wait_ns) - forced, kMeasured,
            "waits for memory beyond what the bound forces"};
  if (run.late_fetches && *run.late_fetches == 0) return {0.0, kMeasured, "no operation waited for a fetch"};
  if (run.predicted_ns && run.bound_ns)
    return {static_cast<double>(*run.predicted_ns - *run.bound_ns), kSimulated,
            "the plan's own, above the bound; what was waited beyond that is in the overhead"};
  return {std::nullopt, kUnknown, "unknown: the run did not measure its waits"};
}

cli::Table of_run(const cli::Scope& scope, const trace::RunRow& run) {
  const OffPlan off(scope.session());
  const double more = off.more_than(static_cast<double>(*run.iteration_ns));
  const double total = static_cast<double>(*run.iteration_ns) + more;
  Waterfall waterfall("A measured iteration of GPU " + scope.gpu_name(run.device_id) + " under " +
                          (run.plan_id ? "plan " + std::to_string(*run.plan_id) : run.policy),
                      total);
  const std::optional<double> in_memory = as_real(run.in_memory_ns), bound = as_real(run.bound_ns);
  std::optional<double> forced;
  if (in_memory && bound) forced = *bound - *in_memory;
  waterfall.part("in memory", {in_memory, kMeasured, "its kernels alone"});
  waterfall.part("forced bytes", {forced, kSimulated, "the bound: no plan moves less or sooner"});
  waterfall.part("late fetches", late_fetches(run, forced.value_or(0)));
  waterfall.part("contention", contention(scope, run.process_id, run.device_id.value_or(0)));
  waterfall.part("off plan", off_plan(run, off, more));
  waterfall.rest("overhead",
                 "what is left: the runtime, the plan's own waits, and whatever is unknown above");
  return waterfall.finish("measured", kMeasured);
}

/// What a recording itself says, with or without a budget: the median of its regular iterations.
std::optional<cli::Table> of_recording(const cli::Scope& scope, const trace::BoundRow& bound) {
  const std::string process = std::to_string(bound.process_id);
  const std::string iterations = " FROM iteration WHERE process_id = " + process;
  std::vector<double> lasted;
  scope.select("SELECT end_ns - start_ns" + iterations + " AND regular = 1 ORDER BY 1",
               [&](trace::Statement& row) { lasted.push_back(row.real(0)); });
  if (lasted.empty() || !bound.in_memory_ns) return std::nullopt;
  const auto count = scope.value<std::int64_t>("SELECT count(*)" + iterations).value_or(0);
  const std::string regular = std::to_string(lasted.size()) + " of " + std::to_string(count);
  Waterfall waterfall("A recorded iteration of GPU " + scope.gpu_name(bound.device_id) + ", the median of " +
                          std::to_string(lasted.size()),
                      lasted[(lasted.size() - 1) / 2]);
  const std::string of_rank =
      " WHERE process_id = " + process + " AND device_id = " + std::to_string(bound.device_id.value_or(0));
  const bool moved = scope.value<std::int64_t>("SELECT count(*) FROM swap" + of_rank).value_or(0) > 0;
  const double forced = moved ? static_cast<double>(bound.bound_ns - *bound.in_memory_ns) : 0;
  const double waits = scope
                           .value<double>("SELECT sum(end_ns - start_ns) FROM gate" + of_rank +
                                          " AND start_ns >= (SELECT min(start_ns)" + iterations +
                                          ") AND start_ns < (SELECT max(end_ns)" + iterations + ")")
                           .value_or(0);
  waterfall.part("in memory", {static_cast<double>(*bound.in_memory_ns), kMeasured, "its kernels alone"});
  waterfall.part("forced bytes", moved ? Part{forced, kSimulated, "the bound: no plan moves less or sooner"}
                                       : Part{0.0, kMeasured, "nothing was moved while this was recorded"});
  waterfall.part("late fetches", {waits / static_cast<double>(count) - forced, kMeasured,
                                  "waits for memory beyond what the bound forces"});
  waterfall.part("contention", contention(scope, bound.process_id, bound.device_id.value_or(0)));
  waterfall.part("off plan",
                 {0.0, kMeasured, regular + " iterations have the usual operations; told is one of these"});
  waterfall.rest("overhead",
                 "what is left: the program between its kernels, the recording, and whatever is "
                 "unknown above");
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
  waterfall.part("in memory", {in_memory, kMeasured, "its kernels alone"});
  waterfall.part("forced bytes", {forced, kSimulated, "the bound: no plan moves less or sooner"});
  waterfall.part("late fetches",
                 {total - bound.value_or(total), kSimulated, "the plan's own, above the bound"});
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
  // The newest bound of each GPU.
  for (const auto& bound : scope.session().rows<trace::BoundRow>(
           "WHERE id IN (SELECT max(id) FROM bound GROUP BY process_id, device_id) AND " +
           scope.condition("process_id", "device_id", "") + " ORDER BY id")) {
    if (auto table = of_recording(scope, bound)) tables.push_back(std::move(*table));
  }
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
