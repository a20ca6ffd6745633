#include "analyzer/planner/lookahead.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

namespace tferry::analyzer {
namespace {

TEST(Lookahead, NothingMovesWhenEverythingFits) {
  const Workload workload = transformer_training({});
  const Plan plan = plan_lookahead(workload);
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_NEAR(plan.predicted_ns, static_cast<double>(compute_time(workload)), 1);
}

TEST(Lookahead, Gpt2ComesNearTheBound) {
  for (const bool bf16 : {false, true}) {
    Workload workload = transformer_training({.bf16 = bf16});
    const std::int64_t all = footprint(workload);
    for (const double factor : {1.33, 1.5, 2.0}) {
      workload.budget = static_cast<std::int64_t>(static_cast<double>(all) / factor);
      const Plan plan = plan_lookahead(workload, {.rounds = 40, .seed = 1, .simulation = {}});
      EXPECT_TRUE(plan_errors(workload, plan).empty());
      EXPECT_LE(plan.predicted_ns, (bf16 ? 1.2 : 1.1) * lower_bound(workload).time_ns)
          << bf16 << " at " << factor;
    }
  }
}

/// Jobs of many tensors, each small against the budget, that on-demand swapping makes at least 15 % slower
/// than the bound.
TEST(Lookahead, RoomyJobsComeNearTheBound) {
  std::vector<double> to_bound;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Workload workload = random_workload(random(), 40 + random() % 40, 80 + random() % 80);
    LookaheadOptions options;
    options.rounds = 30;
    options.simulation.chunk_bytes = 4'000'000;
    options.simulation.chunk_latency_ns = 0;
    OnDemandPolicy policy(workload);
    const double bound = lower_bound(workload).time_ns;
    if (simulate(workload, policy, options.simulation).time_ns < 1.15 * bound) continue;
    to_bound.push_back(plan_lookahead(workload, options).predicted_ns / bound);
  }
  std::sort(to_bound.begin(), to_bound.end());
  ASSERT_GT(to_bound.size(), 30u);
  EXPECT_LE(to_bound[to_bound.size() / 2], 1.1);
  EXPECT_LE(to_bound[to_bound.size() * 9 / 10], 1.3);
}

/// Small jobs with tensors as large as their working sets, where hardly anything overlaps: the bound, which
/// lets bytes flow freely, is out of reach for any plan.
TEST(Lookahead, CrampedJobsAreNotMuchSlowerThanOnDemandAndMostlyFaster) {
  std::vector<double> to_bound;
  std::vector<double> to_on_demand;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const Workload workload = random_workload(random(), 4 + random() % 12, 4 + random() % 16);
    LookaheadOptions options;
    options.rounds = 20;
    options.simulation.chunk_bytes = 4'000'000;
    options.simulation.chunk_latency_ns = 0;
    OnDemandPolicy policy(workload);
    const double on_demand = simulate(workload, policy, options.simulation).time_ns;
    const double bound = lower_bound(workload).time_ns;
    if (on_demand < 1.15 * bound) continue;
    const double planned = plan_lookahead(workload, options).predicted_ns;
    to_bound.push_back(planned / bound);
    to_on_demand.push_back(planned / on_demand);
  }
  std::sort(to_bound.begin(), to_bound.end());
  std::sort(to_on_demand.begin(), to_on_demand.end());
  ASSERT_GT(to_bound.size(), 30u);
  EXPECT_LE(to_bound[to_bound.size() / 2], 1.2);
  EXPECT_LE(to_on_demand[to_on_demand.size() / 2], 0.95);
  EXPECT_LE(to_on_demand.back(), 1.1);
}

RC_GTEST_PROP(LookaheadProperty, PlansAreValidAndNotFasterThanTheBound, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 2 + seed % 30, 1 + seed / 8 % 40);
  LookaheadOptions options;
  options.rounds = 10;
  options.simulation.chunk_bytes = std::int64_t{1'000'000} * (1 + seed % 50);
  const Plan plan = plan_lookahead(workload, options);
  for (const std::string& error : plan_errors(workload, plan)) RC_FAIL(error);
  const Uses uses(workload);
  PlanPolicy policy(workload, uses, plan);
  const Simulation result = simulate(workload, policy, options.simulation);
  RC_ASSERT(result.peak_bytes <= workload.budget);
  const Bound bound = lower_bound(workload);
  const std::size_t n = workload.operations.size();
  for (std::size_t at = bound.chain.front().from + n; at < result.starts_ns.size(); at += n) {
    RC_ASSERT(result.starts_ns[at] - result.starts_ns[at - n] >= bound.time_ns * (1 - 1e-9) - 1);
  }
}

}  // namespace
}  // namespace tferry::analyzer
