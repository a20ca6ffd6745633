#include "analyzer/workload/workload.hpp"

#include "analyzer/workload/builder.hpp"
#include "analyzer/workload/transformer.hpp"
#include "analyzer/workload/uses.hpp"
#include "analyzer/workload/validate.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

Workload tiny() {
  WorkloadBuilder builder("tiny", "manual");
  const auto weight = builder.persistent("weight", 100);
  const auto hidden = builder.fresh("hidden", 40);
  const auto gradient = builder.fresh("gradient", 100);
  builder.operation("forward", 10, {{weight}, {hidden}, {}});
  builder.operation("backward", 20, {{weight, hidden}, {gradient}, {}});
  builder.operation("update", 5, {{gradient}, {}, {weight}});
  return builder.build();
}

TEST(Workload, BytesAliveWhileEachOperationRuns) {
  const Workload workload = tiny();
  EXPECT_EQ(allocated_bytes(workload), (std::vector<std::int64_t>{140, 240, 200}));
  EXPECT_EQ(footprint(workload), 240);
  EXPECT_EQ(working_sets(workload), (std::vector<std::int64_t>{140, 240, 200}));
  EXPECT_EQ(compute_time(workload), 35);
}

TEST(Workload, ALifeMayReachIntoTheNextIteration) {
  Workload workload = tiny();
  workload.tensors[1].birth = 2;
  workload.tensors[1].death = 0;
  EXPECT_EQ(allocated_bytes(workload), (std::vector<std::int64_t>{140, 200, 240}));
}

TEST(Uses, FreshMemoryIsNeverRead) {
  Workload workload = tiny();
  workload.operations[0].accesses[1].kind = AccessKind::kMayTouch;
  const Uses uses(workload);
  ASSERT_EQ(uses.of_tensor(1).size(), 2u);
  EXPECT_FALSE(uses.of_tensor(1)[0].reads);
  EXPECT_TRUE(uses.of_tensor(1)[0].writes);
  EXPECT_TRUE(uses.of_tensor(1)[1].reads);
}

TEST(Uses, GapsOfAPersistentTensorGoRound) {
  const Workload workload = tiny();
  std::vector<std::string> text;
  for (const Gap& gap : gaps(workload, Uses(workload))) {
    text.push_back(workload.tensors[gap.tensor].name + " " + std::to_string(gap.after) + "-" +
                   std::to_string(gap.before) + (gap.needed ? " needed" : " dead") +
                   (gap.written_before ? " written" : ""));
  }
  EXPECT_EQ(text,
            (std::vector<std::string>{"weight 0-1 needed", "weight 1-2 needed", "weight 2-3 needed written",
                                      "hidden 0-1 needed written", "gradient 1-2 needed written"}));
}

TEST(Uses, WhatIsOverwrittenNextIsDead) {
  WorkloadBuilder builder("dead", "manual");
  const auto buffer = builder.persistent("buffer", 10);
  builder.operation("fill", 1, {{}, {buffer}, {}});
  builder.operation("look", 1, {{buffer}, {}, {}});
  const Workload workload = builder.build();
  const std::vector<Gap> all = gaps(workload, Uses(workload));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].needed);
  EXPECT_FALSE(all[1].needed);
}

TEST(Validate, BudgetBelowTheLargestWorkingSet) {
  Workload workload = tiny();
  workload.budget = 200;
  try {
    validate(workload);
    FAIL();
  } catch (const WorkloadError& error) {
    EXPECT_STREQ(error.what(), "budget: operation 1 ('backward') alone touches 240 bytes, the budget is 200");
  }
}

TEST(Transformer, SizesAndTimesFollowFromTheShape) {
  const Workload fp32 = transformer_training({});
  validate(fp32);
  std::int64_t weights = 0;
  for (const Tensor& tensor : fp32.tensors) {
    if (tensor.persistent && tensor.name.find("exp_avg") == std::string::npos) weights += tensor.size / 4;
  }
  EXPECT_NEAR(static_cast<double>(weights), 124.4e6, 0.2e6);  // GPT-2's count, less the norms
  EXPECT_NEAR(static_cast<double>(footprint(fp32)) / (1 << 30), 14.0, 0.8);
  EXPECT_NEAR(static_cast<double>(compute_time(fp32)) * 1e-6, 178, 9);

  const Workload bf16 = transformer_training({.bf16 = true});
  EXPECT_NEAR(static_cast<double>(compute_time(bf16)) * 1e-6, 61, 6);
  EXPECT_LT(footprint(bf16), footprint(fp32));
}

}  // namespace
}  // namespace tferry::analyzer
