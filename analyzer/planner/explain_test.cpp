// Why a plan moves a tensor, what a smaller budget costs, and how ranks share a link.
#include "analyzer/planner/explain.hpp"

#include "analyzer/bound/rank_bound.hpp"
#include "analyzer/planner/budget_curve.hpp"
#include "analyzer/planner/coordination.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::analyzer {
namespace {

Workload oversubscribed(double factor, std::int64_t layers = 4) {
  Workload workload = transformer_training({.layers = layers});
  workload.budget = static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / factor);
  return workload;
}

TEST(Explain, WhatLeavesWouldCostMoreIfItStayed) {
  const Workload workload = oversubscribed(1.5);
  const Plan plan = plan_lookahead(workload);
  ASSERT_FALSE(plan.actions.empty());
  const PlanAction& largest =
      *std::max_element(plan.actions.begin(), plan.actions.end(),
                        [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  bool found = false;
  for (const GapExplanation& gap : explain_tensor(workload, plan, largest.tensor, {})) {
    if (gap.after != largest.leave_after) continue;
    found = true;
    EXPECT_EQ(gap.parked, largest.bytes);
    EXPECT_GT(gap.most_excess, 0);
    EXPECT_GT(gap.otherwise_ns, -0.01 * plan.predicted_ns);
    EXPECT_GT(gap.lasts_ns, 0);
  }
  EXPECT_TRUE(found);
}

TEST(BudgetCurve, RisesFromTheTimeInMemoryAndNeverCrossesTheBound) {
  const auto points = budget_curve(oversubscribed(1), 12);
  ASSERT_GE(points.size(), 4u);
  EXPECT_NEAR(points.front().planned_ns, static_cast<double>(compute_time(oversubscribed(1))), 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_GE(points[i].planned_ns, points[i].bound_ns - 1);
    if (i > 0) {
      EXPECT_LT(points[i].budget, points[i - 1].budget);
      EXPECT_GE(points[i].bound_ns, points[i - 1].bound_ns - 1);
    }
  }
}

TEST(Coordination, AnOrderBeatsSharingAndNothingBeatsTheBound) {
  const Workload workload = oversubscribed(2, 12);
  LookaheadOptions options;
  options.rounds = 20;
  const Plan plan = plan_lookahead(workload, options);
  options.avoid = &plan;
  const Plan other = plan_lookahead(workload, options);
  const RankLayout layout{2, 2, 1};
  const Workload* const both[] = {&workload, &workload};
  const double bound = rank_bound(both, workload.link, 1).time_ns;
  double fair = 0, best = 0;
  for (const Coordination mode : all_coordinations()) {
    const double time = coordinated_time(workload, plan, other, layout, mode, {});
    EXPECT_GE(time, bound) << coordination_name(mode);
    if (mode == Coordination::kFair) fair = best = time;
    best = std::min(best, time);
  }
  EXPECT_LT(best, 0.95 * fair);
  EXPECT_LT(plan_overlap(plan, other), 1);
  const Coordination chosen = choose_coordination(workload, plan, &other, layout, {});
  EXPECT_LE(coordinated_time(workload, plan, other, layout, chosen, {}), 1.03 * best);
  EXPECT_NE(choose_coordination(workload, plan, nullptr, layout, {}), Coordination::kInterleave);
  for (const std::uint64_t every : {1, 4, 16})
    EXPECT_NE(choose_coordination(workload, plan, nullptr, {2, 2, every}, {}), Coordination::kSkewed)
        << "no run begins its ranks apart";
  EXPECT_EQ(choose_coordination(workload, plan, &other, {4, 1, 1}, {}), Coordination::kFair)
      << "nobody to share with";
  EXPECT_EQ(usual_coordination({4, 1, 1}), Coordination::kFair);
}

}  // namespace
}  // namespace tferry::analyzer
