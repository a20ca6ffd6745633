#include "benchmarks/tferry_bench/planner_cells.hpp"

#include "analyzer/bound/rank_bound.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"
#include "analyzer/workload/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>

namespace tferry::benchmarks {
namespace {

using namespace analyzer;

const double kFactors[] = {1.33, 1.5, 2.0};
const RankLayout kLayouts[] = {{2, 2, 1}, {4, 4, 1}, {8, 8, 1}};
const std::uint64_t kRounds[] = {1, 4, 16};
const char* const kPolicies[] = {"naive-um", "pump", "on-demand", "lms", "lms-early"};

class Job {
 public:
  Job(const PlannedJob& job, double factor, int rounds)
      : name_(job.name), factor_(factor), workload_(job.workload) {
    workload_.budget = static_cast<std::int64_t>(static_cast<double>(footprint(workload_)) / factor);
    LookaheadOptions options;
    options.rounds = rounds;
    plan_ = plan_lookahead(workload_, options);
    options.avoid = &plan_;
    other_ = plan_lookahead(workload_, options);
  }

  SingleCell single() const {
    SingleCell cell{name_, factor_, 0, {}, 0};
    const Bound bound = lower_bound(workload_);
    cell.bound_ns = bound.time_ns;
    for (const char* policy : kPolicies) {
      const Workload under = workload_under(policy, workload_);
      const auto made = make_policy(policy, under);
      cell.time_ns[policy] = simulate(under, *made).time_ns;
    }
    const Uses uses(workload_);
    PlanPolicy policy(workload_, uses, plan_);
    const Simulation simulation = simulate(workload_, policy);
    cell.time_ns["lookahead"] = simulation.time_ns;
    const auto forced = bound.forced_in + bound.forced_out;
    if (forced > 0) {
      cell.moved_over_forced =
          static_cast<double>(simulation.bytes_in + simulation.bytes_out) / static_cast<double>(forced);
    }
    return cell;
  }

  RanksCell ranks(const RankLayout& layout) const {
    RanksCell cell{name_, factor_, layout, 0, 0, 0, 0, 0, {}, plan_overlap(plan_, other_), {}};
    const std::vector<const Workload*> together(layout.gpus_per_link, &workload_);
    cell.bound_ns = rank_bound(together, workload_.link, layout.iterations_per_round).time_ns;
    const SimulationOptions simulation;
    cell.lms_fair = coordinated_lms_time(workload_, layout, Coordination::kFair, simulation);
    cell.lms_interleave = coordinated_lms_time(workload_, layout, Coordination::kInterleave, simulation);
    cell.lms_orchestrate = cell.lms_fair;
    for (const Coordination mode :
         {Coordination::kDeadline, Coordination::kPriority, Coordination::kRotating, Coordination::kBehind}) {
      cell.lms_orchestrate =
          std::min(cell.lms_orchestrate, coordinated_lms_time(workload_, layout, mode, simulation));
    }
    for (const Coordination mode : all_coordinations()) {
      cell.lookahead[mode] = coordinated_time(workload_, plan_, other_, layout, mode, simulation);
    }
    const RankLayout two{2, 2, layout.iterations_per_round};
    cell.link_busy =
        simulate_coordinated(workload_, plan_, plan_, two, Coordination::kFair, simulation).link_busy;
    cell.chosen = choose_coordination(workload_, plan_, &other_, layout, simulation);
    return cell;
  }

 private:
  std::string name_;
  double factor_;
  Workload workload_;
  Plan plan_, other_;
};

}  // namespace

double RanksCell::best() const {
  double least = lookahead.begin()->second;
  for (const auto& [mode, time] : lookahead) least = std::min(least, time);
  return least;
}

std::vector<PlannedJob> core_jobs() {
  return {{"gpt2_fp32", transformer_training({})},
          {"gpt2_bf16", transformer_training({.bf16 = true})},
          {"wide_bf16", transformer_training({.layers = 8, .width = 4096, .bf16 = true})}};
}

PlannerCells run_planner_cells(const std::vector<PlannedJob>& jobs, int rounds,
                               void (*progress)(const std::string&)) {
  const auto run_job = [rounds, progress](const PlannedJob& job) {
    PlannerCells cells;
    for (const double factor : kFactors) {
      const Job planned(job, factor, rounds);
      progress(fmt::format("{} at {}", job.name, factor));
      cells.singles.push_back(planned.single());
      for (RankLayout layout : kLayouts) {
        for (const std::uint64_t iterations : kRounds) {
          layout.iterations_per_round = iterations;
          cells.ranks.push_back(planned.ranks(layout));
        }
      }
    }
    return cells;
  };
  std::vector<std::future<PlannerCells>> running;
  for (const PlannedJob& job : jobs) running.push_back(std::async(std::launch::async, run_job, job));
  PlannerCells all;
  for (std::future<PlannerCells>& one : running) {
    PlannerCells cells = one.get();
    all.singles.insert(all.singles.end(), cells.singles.begin(), cells.singles.end());
    all.ranks.insert(all.ranks.end(), cells.ranks.begin(), cells.ranks.end());
  }
  return all;
}

}  // namespace tferry::benchmarks
