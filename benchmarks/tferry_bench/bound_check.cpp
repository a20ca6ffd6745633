#include "benchmarks/tferry_bench/bound_check.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/session/analysis.hpp"
#include "analyzer/workload/json.hpp"
#ifdef TFERRY_HAVE_CBC
#include "analyzer/exact/fluid_program.hpp"
#endif

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace tferry::benchmarks {
namespace {

using analyzer::Workload;

Workload read_workload(const std::string& path, double factor) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  Workload workload = analyzer::workload_from_json(std::string(std::istreambuf_iterator<char>(in), {}));
  workload.budget = static_cast<std::int64_t>(static_cast<double>(analyzer::footprint(workload)) / factor);
  return workload;
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

}  // namespace

std::vector<BoundCheck> check_bounds(const std::string& path, const std::vector<double>& factors,
                                     std::size_t breakpoints) {
  std::vector<BoundCheck> checks;
  for (const double factor : factors) {
    if (!(factor > 0)) throw std::runtime_error("a factor of oversubscription must be positive");
    const Workload workload =
        path.ends_with(".json") ? read_workload(path, factor) : read_session(path, factor);
    BoundCheck check{factor, workload.budget, analyzer::lower_bound(workload).time_ns, 0, 0, 0};
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
    found.push_back(
        {{"claim", fmt::format("plan.bound_vs_lp/{}/{}", job, check.factor)},
         {"kind", "simulated"},
         {"metric", "value"},
         {"command", command},
         {"subject",
          {{"label", "distance of the linear program from the bound"},
           {"samples", {std::abs(check.fluid_ns / check.bound_ns - 1)}}}},
         {"bound_ns", check.bound_ns},
         {"checks",
          {{"budget_bytes", check.budget_bytes},
           {"fluid_ns", check.fluid_ns},
           {"breakpoints", check.breakpoints},
           {"columns", check.columns}}},
         {"note", "how far the fluid linear program, written and solved apart from the bound, is from it"}});
  }
  return found;
}

}  // namespace tferry::benchmarks
