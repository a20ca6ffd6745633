// Plans for the golden session: GPT-2 in fp32, recorded on an H200.
#include "analyzer/placement/replay.hpp"
#include "analyzer/planner/rank_plans.hpp"
#include "analyzer/session/analysis.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tferry::analyzer {
namespace {

RankAnalysis golden(double oversubscription, int rounds = 40, const Effort& effort = {}) {
  trace::Session session = trace::Session::open(TFERRY_GOLDEN_SESSION);
  AnalysisOptions options;
  options.oversubscription = oversubscription;
  options.planner.rounds = rounds;
  options.effort = effort;
  std::vector<RankAnalysis> ranks = analyze_session(session, options);
  EXPECT_EQ(ranks.size(), 1u);
  return std::move(ranks.front());
}

TEST(GoldenPlan, EveryTensorFindsItsPlaceInAsManyChunksAsAreInUseAtOnce) {
  for (const double factor : {1.33, 1.5, 2.0}) {
    const RankAnalysis rank = golden(factor);
    ASSERT_TRUE(rank.placed) << factor;
    const PlacedPlan& placed = *rank.placed;
    EXPECT_EQ(placed.slack, 0) << factor;
    EXPECT_LE(placed.placement.chunks, placed.split.plan());
    EXPECT_EQ(testing_support::Replay(placed.workload, placed.placement).run(), "");
    EXPECT_GE(placed.plan.predicted_ns, rank.bound->time_ns);
    EXPECT_LE(placed.plan.predicted_ns, 1.1 * rank.bound->time_ns) << factor;
  }
}

TEST(GoldenPlan, MoreEffortIsNeverSlowerAndSometimesFaster) {
  constexpr int kRounds = 20;
  constexpr double kAsFast = 1.001;  // what moves fewer bytes may take this much longer
  double gained = 0;
  for (const double factor : {1.33, 1.5, 2.0}) {
    const RankAnalysis fast = golden(factor, kRounds, Effort::fast());
    ASSERT_TRUE(fast.placed) << factor;
    double before = fast.placed->plan.predicted_ns * kAsFast;
    for (const int searches : {1, 2, 4}) {
      const RankAnalysis more = golden(factor, kRounds, {Slacks::kAll, searches});
      ASSERT_TRUE(more.placed) << factor;
      EXPECT_LE(more.placed->plan.predicted_ns, before) << searches << " searches at " << factor;
      EXPECT_EQ(testing_support::Replay(more.placed->workload, more.placed->placement).run(), "");
      gained = std::max(gained, fast.placed->plan.predicted_ns / more.placed->plan.predicted_ns - 1);
      before = more.placed->plan.predicted_ns;
    }
  }
  EXPECT_GT(gained, 0.002);
}

TEST(GoldenPlan, RanksOnALinkCanMoveOtherTensorsInTheSameBudget) {
  const RankAnalysis rank = golden(1.5);
  ASSERT_TRUE(rank.placed);
  LookaheadOptions options;
  options.rounds = 40;
  const auto plans =
      plans_for_ranks(rank.source.recording, *rank.typical, *rank.placed, rank.budget_bytes, 2, options);
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_TRUE(plan_errors(plans[1].workload.workload, plans[1].plan).empty());
  EXPECT_EQ(testing_support::Replay(plans[1].workload, plans[1].placement).run(), "");
  EXPECT_LT(overlap_with_others(plans, 1), 0.5);
  EXPECT_GT(overlap_with_others(plans, 1), 0);
}

TEST(GoldenPlan, IsAPlanThatARuntimeAccepts) {
  const RankAnalysis rank = golden(1.5);
  ASSERT_TRUE(rank.placed);
  const trace::FlatPlan flat =
      make_flat_plan(rank, *rank.placed, plan_row(rank, *rank.placed), "gpt2.tferry, plan 1");
  EXPECT_EQ(trace::flat_plan_error(flat), "");
  EXPECT_EQ(flat.operations.size(), 845u);
  std::set<std::uint64_t> signatures;
  for (const trace::FlatPlan::Operation& operation : flat.operations) signatures.insert(operation.signature);
  EXPECT_GT(signatures.size(), 50u);
  // Every persistent tensor is named by some operation, by which it is known again.
  std::set<std::uint32_t> named(flat.names.begin(), flat.names.end());
  for (std::uint32_t t = 0; t < flat.tensors.size(); ++t)
    EXPECT_TRUE(flat.tensors[t].persistent == 0 || named.contains(t)) << t;
}

TEST(GoldenPlan, IterationsBeginWhereHardlyAnyTensorCrosses) {
  const RankAnalysis rank = golden(1.5);
  std::int64_t crossing = 0;
  for (const MatchedTensor& matched : rank.typical->tensors) {
    const Tensor& tensor = matched.tensor;
    if (!tensor.persistent && tensor.death < tensor.birth) crossing += tensor.size;
  }
  EXPECT_LT(crossing, std::int64_t{64} << 20);
}

}  // namespace
}  // namespace tferry::analyzer
