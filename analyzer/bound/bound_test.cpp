#include "analyzer/bound/bound.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/workload/builder.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tferry::analyzer {
namespace {

constexpr LinkRates kTenPerNanosecond{10, 10, 8, 8};

/// Two operations that each read one of two weights; memory for one.
Workload taking_turns(std::int64_t duration) {
  WorkloadBuilder builder("turns", "manual");
  const auto a = builder.persistent("a", 1000);
  const auto b = builder.persistent("b", 1000);
  builder.operation("read a", static_cast<double>(duration), {{a}, {}, {}});
  builder.operation("read b", static_cast<double>(duration), {{b}, {}, {}});
  Workload workload = builder.build();
  workload.budget = 1000;
  workload.link = kTenPerNanosecond;
  return workload;
}

TEST(Bound, EverythingFits) {
  Workload workload = taking_turns(500);
  workload.budget = 2000;
  const Bound bound = lower_bound(workload);
  EXPECT_EQ(bound.time_ns, 1000);
  EXPECT_EQ(bound.limiting, Resource::kCompute);
  EXPECT_EQ(bound.forced_in, 0);
}

TEST(Bound, WeightsThatAreOnlyReadComeInAndNeverGoOut) {
  const Bound bound = lower_bound(taking_turns(10));
  EXPECT_EQ(bound.time_ns, 200);
  EXPECT_EQ(bound.limiting, Resource::kIn);
  EXPECT_EQ(bound.forced_in, 2000);
  EXPECT_EQ(bound.forced_out, 0);
  EXPECT_EQ(bound.compute_ns, 20);
}

TEST(Bound, TransfersHideBehindLongOperations) { EXPECT_EQ(lower_bound(taking_turns(500)).time_ns, 1000); }

// A tensor that is not used any more, and not freed yet, when memory is needed for another one.
TEST(Bound, WhatIsKeptGoesOutAndNeedNotComeBack) {
  Workload workload;
  workload.link = kTenPerNanosecond;
  workload.budget = 1000;
  for (const char* name : {"make", "other", "free"}) workload.operations.push_back({name, 1, 0, {}});
  workload.tensors = {{"early", 1000, false, 0, 2, true}, {"late", 1000, false, 1, 1}};
  workload.operations[0].accesses = {{0, AccessKind::kOverwrite}};
  workload.operations[1].accesses = {{1, AccessKind::kOverwrite}};
  const Bound bound = lower_bound(workload);
  EXPECT_EQ(bound.forced_out, 1000);
  EXPECT_EQ(bound.forced_in, 0);
  EXPECT_EQ(bound.time_ns, 100 + 2);
  workload.tensors[0].kept = false;
  EXPECT_EQ(lower_bound(workload).time_ns, 3) << "dead contents cost nothing";
}

TEST(Bound, WrittenContentsGoBothWays) {
  WorkloadBuilder builder("written", "manual");
  const auto a = builder.persistent("a", 1000);
  const auto b = builder.persistent("b", 1000);
  builder.operation("update a", 1, {{}, {}, {a}});
  builder.operation("update b", 1, {{}, {}, {b}});
  Workload workload = builder.build();
  workload.budget = 1000;
  workload.link = kTenPerNanosecond;
  const Bound bound = lower_bound(workload);
  EXPECT_EQ(bound.forced_in, 2000);
  EXPECT_EQ(bound.forced_out, 2000);
  EXPECT_EQ(bound.limiting, Resource::kDuplex);
  EXPECT_DOUBLE_EQ(bound.time_ns, 2 * 125);  // 1000 in and 1000 out together, at 8 bytes per nanosecond each
}

TEST(Bound, DeadContentsCostNothing) {
  WorkloadBuilder builder("dead", "manual");
  const auto a = builder.persistent("a", 1000);
  const auto b = builder.persistent("b", 1000);
  builder.operation("fill a", 7, {{}, {a}, {}});
  builder.operation("fill b", 7, {{}, {b}, {}});
  Workload workload = builder.build();
  workload.budget = 1000;
  const Bound bound = lower_bound(workload);
  EXPECT_EQ(bound.time_ns, 14);
  EXPECT_EQ(bound.forced_in + bound.forced_out, 0);
}

/// Figures of an independent model of the same job at 1.33, 1.5 and 2 times the budget: 188, 212 and 270 ms.
TEST(Bound, Gpt2InSinglePrecision) {
  Workload workload = transformer_training({});
  const std::int64_t all = footprint(workload);
  std::vector<double> milliseconds;
  for (const double factor : {1.0, 1.33, 1.5, 2.0}) {
    workload.budget = static_cast<std::int64_t>(static_cast<double>(all) / factor);
    const Bound bound = lower_bound(workload);
    milliseconds.push_back(bound.time_ns * 1e-6);
    double sum = 0;
    for (const BoundWindow& window : bound.chain) sum += window.time_ns;
    EXPECT_NEAR(sum, bound.time_ns, 1e-6 * sum);
  }
  EXPECT_NEAR(milliseconds[0], compute_time(workload) * 1e-6, 1e-3);
  EXPECT_NEAR(milliseconds[1], 188, 188 * 0.1);
  EXPECT_NEAR(milliseconds[2], 212, 212 * 0.1);
  EXPECT_NEAR(milliseconds[3], 270, 270 * 0.1);
}

RC_GTEST_PROP(BoundProperty, ChainGoesOnceAroundAndAddsUp, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 2 + seed % 40, 1 + seed % 30);
  const Bound bound = lower_bound(workload);
  double sum = 0;
  for (std::size_t i = 0; i < bound.chain.size(); ++i) {
    sum += bound.chain[i].time_ns;
    const auto n = static_cast<std::uint32_t>(workload.operations.size());
    if (i > 0) RC_ASSERT(bound.chain[i].from == bound.chain[i - 1].to % n);
  }
  RC_ASSERT(std::abs(sum - bound.time_ns) < 1);
  RC_ASSERT(bound.time_ns >= bound.compute_ns);
}

RC_GTEST_PROP(BoundProperty, FewerBreakpointsAndMoreMemoryNeverRaiseIt, (std::uint32_t seed)) {
  Workload workload = random_workload(seed, 10 + seed % 60, 1 + seed % 40);
  const double bound = lower_bound(workload).time_ns;
  RC_ASSERT(lower_bound(workload, 9).time_ns <= bound + 1);
  workload.budget += workload.budget / 5;
  RC_ASSERT(lower_bound(workload).time_ns <= bound + 1);
}

RC_GTEST_PROP(BreakpointsProperty, AreFewAndOrdered, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 2 + seed % 500, 20);
  const auto points = choose_breakpoints(workload, Uses(workload), 30);
  RC_ASSERT(points.size() <= 36u);
  RC_ASSERT(std::is_sorted(points.begin(), points.end()));
}

}  // namespace
}  // namespace tferry::analyzer
