#include "benchmarks/tferry_bench/bound_check.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/session/analysis.hpp"
#include "analyzer/workload/json.hpp"
#include "benchmarks/tferry_bench/planner_cells.hpp"
#ifdef TFERRY_HAVE_CBC
#include "analyzer/exact/fluid_program.hpp"
#endif

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace tferry::benchmarks {
namespace {

using analyzer::Workload;

Workload with_budget(Workload workload, double factor) {
  workload.budget = static_cast<std::int64_t>(static_cast<double>(analyzer::footprint(workload)) / factor);
  return workload;
}

Workload read_workload(const std::string& path, double factor) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  return with_budget(analyzer::workload_from_json(std::string(std::istreambuf_iterator<char>(in), {})),
                     factor);
}

Workload read_session(const std::string& path, double factor) {
  trace::Session session = trace::Session::open(path);
  analyzer::AnalysisOptions options;
  options.oversubscription = factor;
  options.plan = false;
  std::string why = "it holds no process";
  for (analyzer::RankAnalysis& rank : analyzer::analyze_session(session, options)) {
    if (rank.bound) return std::move(rank.typical->workload);
    if (!rank.unknown.empty()) why = rank.unknown.back();
  }
  throw std::runtime_error(fmt::format("{} at {}: {}", path, factor, why));
}

Workload find_workload(const std::string& path, double factor) {
  for (PlannedJob& job : core_jobs()) {
    if (job.name == path) return with_budget(std::move(job.workload), factor);
  }
  return path.ends_with(".json") ? read_workload(path, factor) : read_session(path, factor);
}

nlohmann::json measurement(const std::string& claim, const char* label, double value, const BoundCheck& check,
                           const std::string& command, const char* note) {
  return {{"claim", claim},
          {"kind", "simulated"},
          {"metric", "value"},
          {"command", command},
          {"subject", {{"label", label}, {"samples", {value}}}},
          {"bound_ns", check.bound_ns},
          {"checks",
           {{"budget_bytes", check.budget_bytes},
            {"fluid_ns", check.fluid_ns},
            {"breakpoints", check.breakpoints},
            {"columns", check.columns}}},
          {"note", note}};
}

}  // namespace

std::vector<BoundCheck> check_bounds(const std::string& path, const std::vector<double>& factors,
                                     std::size_t breakpoints, int rounds) {
  std::vector<BoundCheck> checks;
  for (const double factor : factors) {
    if (!(factor > 0)) throw std::runtime_error("a factor of oversubscription must be positive");
    const Workload workload = find_workload(path, factor);
    BoundCheck check{factor, workload.budget, analyzer::lower_bound(workload).time_ns, 0, 0, 0, 0};
    if (rounds > 0) {
      analyzer::LookaheadOptions options;
      options.rounds = rounds;
      check.planned_ns = analyzer::plan_lookahead(workload, options).predicted_ns;
    }
#ifdef TFERRY_HAVE_CBC
    const analyzer::FluidBound fluid = analyzer::fluid_bound(workload, breakpoints);
    check.fluid_ns = fluid.time_ns;
    check.breakpoints = fluid.breakpoints;
    check.columns = fluid.columns;
#else
    static_cast<void>(breakpoints);
#endif
    checks.push_back(check);
  }
  return checks;
}

nlohmann::json bound_measurements(const std::vector<BoundCheck>& checks, const std::string& job,
                                  const std::string& command) {
  nlohmann::json found = nlohmann::json::array();
  for (const BoundCheck& check : checks) {
    if (check.fluid_ns == 0) continue;
    found.push_back(measurement(
        fmt::format("plan.bound_vs_lp/{}/{}", job, check.factor),
        "distance of the linear program from the bound", std::abs(check.fluid_ns / check.bound_ns - 1), check,
        command, "how far the fluid linear program, written and solved apart from the bound, is from it"));
    if (check.planned_ns == 0) continue;
    found.push_back(measurement(fmt::format("analyzer.lookahead_vs_lp/{}/{}", job, check.factor),
                                "lookahead over the linear program", check.planned_ns / check.fluid_ns, check,
                                command, "simulated time of the plan over the fluid linear program"));
  }
  return found;
}

}  // namespace tferry::benchmarks
