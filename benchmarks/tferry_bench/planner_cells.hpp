#pragma once

#include "analyzer/planner/coordination.hpp"
#include "analyzer/workload/workload.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// A job to plan: a name for claims and its workload, without a budget.
struct PlannedJob {
  std::string name;
  analyzer::Workload workload;
};

/// One job at one factor on one GPU: simulated time of each policy over the bound.
struct SingleCell {
  std::string job;
  double factor = 0;
  double bound_ns = 0;
  std::map<std::string, double> time_ns;  ///< by policy
  double moved_over_forced = 0;           ///< bytes under lookahead
};

/// One job at one factor on several GPUs: simulated time of an iteration in ns.
struct RanksCell {
  std::string job;
  double factor = 0;
  analyzer::RankLayout layout;
  double bound_ns = 0;
  /// Share of an iteration in which the traffic of two ranks keeps the link busy, under fair sharing.
  double link_busy = 0;
  double lms_fair = 0, lms_interleave = 0, lms_orchestrate = 0;  ///< the best order
  std::map<analyzer::Coordination, double> lookahead;
  double overlap = 0;  ///< share of bytes that both plans of interleave move
  analyzer::Coordination chosen = analyzer::Coordination::kFair;

  double best() const;
};

struct PlannerCells {
  std::vector<SingleCell> singles;
  std::vector<RanksCell> ranks;
};

/// Jobs at 1.33, 1.5 and 2 times; 2, 4 and 8 GPUs on one shared link, synchronising every 1, 4 and 16
/// iterations. More GPUs in pairs are equal to two on a link, since all ranks are alike. `progress` is called
/// with each cell's name.
PlannerCells run_planner_cells(const std::vector<PlannedJob>& jobs, int rounds,
                               void (*progress)(const std::string&));

/// The synthetic jobs of the core cells: GPT-2 124 M in fp32 and bf16, 8 layers of width 4096 in bf16.
std::vector<PlannedJob> core_jobs();

std::string cells_as_markdown(const PlannerCells& cells);
nlohmann::json cells_as_measurements(const PlannerCells& cells, const std::string& command);
/// Claim analyzer.planners_core: how long all of it took, wall clock. `load` tells of the machine.
nlohmann::json duration_measurement(double ns, const std::string& command, const std::string& load);

}  // namespace tferry::benchmarks
