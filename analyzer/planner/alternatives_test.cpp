#include "analyzer/planner/alternatives.hpp"

#include "analyzer/workload/builder.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

/// Two activations of 100 bytes that go through four operations, one of which is dear to make, beside a
/// weight of 50: 250 bytes at the peak.
Workload there_and_back() {
  WorkloadBuilder builder("there and back", "manual");
  const auto weight = builder.persistent("weight", 50);
  const auto a = builder.fresh("a", 100), b = builder.fresh("b", 100);
  builder.operation("make a", 10, {{weight}, {}, {a}});
  builder.operation("make b", 70, {{weight}, {}, {b}});
  builder.operation("loss", 5, {{weight}, {}, {}});
  builder.operation("use b", 20, {{weight, b}, {}, {}});
  builder.operation("use a", 20, {{weight, a}, {}, {}});
  Workload workload = builder.build();
  workload.budget = 160;
  return workload;
}

TEST(Alternatives, WhatIsCheapToMakeIsDroppedAndMadeAgain) {
  const Alternatives found = estimate_alternatives(there_and_back());
  ASSERT_TRUE(found.recompute);
  EXPECT_EQ(found.recompute->bytes, 100);
  EXPECT_EQ(found.recompute->operations, 1u);
  EXPECT_DOUBLE_EQ(found.recompute->time_ns, 125 + 10);
}

TEST(Alternatives, ASmallerBatchScalesWhatIsNotLastingAndRepeatsTheRest) {
  Workload workload = there_and_back();
  const Alternatives found = estimate_alternatives(workload);
  ASSERT_TRUE(found.smaller_batch);
  EXPECT_DOUBLE_EQ(found.smaller_batch->share, (160 - 50) / 200.0);
  EXPECT_DOUBLE_EQ(found.smaller_batch->time_ns, 120 + 5 / 0.55) << "the loss touches nothing that scales";
  workload.budget = 250;
  EXPECT_DOUBLE_EQ(estimate_alternatives(workload).smaller_batch->share, 1) << "it fits";
  EXPECT_DOUBLE_EQ(estimate_alternatives(workload).recompute->time_ns, 125);
}

TEST(Alternatives, WhatLastsCannotBeMadeSmaller) {
  Workload workload = there_and_back();
  workload.tensors[0].size = 200;
  const Alternatives found = estimate_alternatives(workload);
  EXPECT_FALSE(found.smaller_batch);
  EXPECT_FALSE(found.recompute);
}

TEST(Alternatives, OfATransformerRecomputingRepeatsLessThanTheForwardPass) {
  Workload workload = transformer_training({});
  workload.budget = static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / 1.5);
  const Alternatives found = estimate_alternatives(workload);
  ASSERT_TRUE(found.recompute);
  const double once = static_cast<double>(compute_time(workload));
  EXPECT_GT(found.recompute->time_ns, once);
  EXPECT_LT(found.recompute->time_ns, 1.4 * once);
  ASSERT_TRUE(found.smaller_batch);
  EXPECT_GT(found.smaller_batch->share, 0.4);
  EXPECT_LT(found.smaller_batch->share, 0.8);
  EXPECT_LT(found.smaller_batch->time_ns, 1.1 * once);
}

}  // namespace
}  // namespace tferry::analyzer
