// On ten thousand small random workloads: the bound is never above the fluid linear program, nor above what
// any policy, plan or way to share a link takes in the simulator, and the budget holds.
#include "analyzer/bound/bound.hpp"
#include "analyzer/bound/rank_bound.hpp"
#include "analyzer/planner/coordination.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"
#include "analyzer/workload/random_workload.hpp"
#ifdef TFERRY_HAVE_CBC
#include "analyzer/exact/fluid_program.hpp"
#endif

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tferry::analyzer {
namespace {

constexpr std::uint32_t kWorkloads = 10'000;
const char* const kPolicies[] = {"on-demand", "lms", "lms-early", "pump", "naive-um"};

struct Drawn {
  Workload workload;
  SimulationOptions options;
};

Drawn drawn(std::uint32_t seed) {
  std::mt19937 random(seed);
  Drawn one;
  one.workload = random_workload(random(), 2 + random() % 9, 1 + random() % 10);
  one.options = {.chunk_bytes = std::int64_t{1'000'000} * static_cast<std::int64_t>(4 + random() % 40),
                 .chunk_latency_ns = static_cast<double>(random() % 2 * 4000),
                 .run_ahead = 1 + random() % 8,
                 .iterations = 4};
  return one;
}

bool reaches(double time_ns, double bound_ns) { return time_ns >= bound_ns * (1 - 1e-9) - 1; }

/// Between two starts of the operation at which the bound's chain begins, no less time passes. Empty: so it
/// is.
std::string fault(const Workload& workload, const Simulation& simulation, const Bound& bound) {
  if (simulation.peak_bytes > workload.budget) return "more memory than the budget";
  const std::size_t count = workload.operations.size();
  for (std::size_t at = bound.chain.front().from + count; at < simulation.starts_ns.size(); at += count) {
    if (!reaches(simulation.starts_ns[at] - simulation.starts_ns[at - count], bound.time_ns))
      return "faster than the bound";
  }
  return "";
}

TEST(Invariants, NoPolicyIsFasterThanTheBound) {
  for (std::uint32_t seed = 0; seed < kWorkloads; ++seed) {
    const Drawn one = drawn(seed);
    for (const char* const name : kPolicies) {
      const Workload workload = workload_under(name, one.workload);
      const auto policy = make_policy(name, workload);
      const Simulation simulation = simulate(workload, *policy, one.options);
      ASSERT_EQ(fault(workload, simulation, lower_bound(workload)), "") << name << ", seed " << seed;
    }
  }
}

Plan planned(const Drawn& one, const Plan* avoid) {
  LookaheadOptions options;
  options.rounds = 4;
  options.simulation = one.options;
  options.avoid = avoid;
  return plan_lookahead(one.workload, options);
}

TEST(Invariants, NoPlanIsFasterThanTheBound) {
  for (std::uint32_t seed = 0; seed < kWorkloads; ++seed) {
    const Drawn one = drawn(seed);
    const Plan plan = planned(one, nullptr);
    ASSERT_EQ(plan_errors(one.workload, plan), std::vector<std::string>{}) << "seed " << seed;
    const Uses uses(one.workload);
    PlanPolicy policy(one.workload, uses, plan);
    const Simulation simulation = simulate(one.workload, policy, one.options);
    ASSERT_EQ(fault(one.workload, simulation, lower_bound(one.workload)), "") << "seed " << seed;
  }
}

/// Each of the ways to share a link, for a seventh of the workloads under plans and another seventh under
/// lms.
TEST(Invariants, NoWayToShareALinkIsFasterThanTheBoundOfItsRanks) {
  const auto modes = all_coordinations();
  for (std::uint32_t seed = 0; seed < kWorkloads; ++seed) {
    const Drawn one = drawn(seed);
    const Coordination mode = modes[seed % modes.size()];
    const std::size_t gpus = 2 + seed / 7 % 3;
    const RankLayout layout{gpus, gpus == 4 && seed % 2 == 0 ? 2 : gpus, 1 + seed / 3 % 3};
    const std::vector<const Workload*> together(layout.gpus_per_link, &one.workload);
    const double bound = rank_bound(together, one.workload.link, layout.iterations_per_round).time_ns;
    const std::string which = coordination_name(mode) + ", seed " + std::to_string(seed);
    const Plan plan = planned(one, nullptr), other = planned(one, &plan);
    const RankSimulation ranks = simulate_coordinated(one.workload, plan, other, layout, mode, one.options);
    ASSERT_TRUE(reaches(ranks.time_ns, bound)) << which;
    for (const Simulation& rank : ranks.by_rank) ASSERT_LE(rank.peak_bytes, one.workload.budget) << which;
    const Coordination under_lms = modes[(seed + 1) % modes.size()];
    ASSERT_TRUE(reaches(coordinated_lms_time(one.workload, layout, under_lms, one.options), bound))
        << "lms, " << coordination_name(under_lms) << ", seed " << seed;
  }
}

#ifdef TFERRY_HAVE_CBC
TEST(Invariants, TheBoundIsNeverAboveTheFluidLinearProgram) {
  for (std::uint32_t seed = 0; seed < kWorkloads; ++seed) {
    const Workload workload = drawn(seed).workload;
    const double fluid = fluid_bound(workload, workload.operations.size()).time_ns;
    ASSERT_LE(lower_bound(workload).time_ns, fluid * (1 + 1e-6) + 1) << "seed " << seed;
  }
}
#endif

}  // namespace
}  // namespace tferry::analyzer
