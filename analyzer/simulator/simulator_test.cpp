#include "analyzer/simulator/simulator.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/builder.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tferry::analyzer {
namespace {

const SimulationOptions kPlain{.chunk_bytes = 100, .chunk_latency_ns = 0, .run_ahead = 1, .iterations = 4};

/// Two operations that each use one of two buffers; memory for one; 10 bytes per nanosecond.
Workload taking_turns(std::int64_t duration, bool writing) {
  WorkloadBuilder builder("turns", "manual");
  const auto a = builder.persistent("a", 1000);
  const auto b = builder.persistent("b", 1000);
  using Ids = std::vector<std::uint32_t>;
  const auto touches = [&](std::uint32_t t) {
    return WorkloadBuilder::Touches{writing ? Ids{} : Ids{t}, {}, writing ? Ids{t} : Ids{}};
  };
  builder.operation("use a", static_cast<double>(duration), touches(a));
  builder.operation("use b", static_cast<double>(duration), touches(b));
  Workload workload = builder.build();
  workload.budget = 1000;
  workload.link = {10, 10, 8, 8};
  return workload;
}

TEST(Simulator, InMemoryAnIterationTakesTheSumOfItsOperations) {
  Workload workload = taking_turns(500, true);
  workload.budget = 2000;
  OnDemandPolicy policy(workload);
  const Simulation result = simulate(workload, policy, kPlain);
  EXPECT_DOUBLE_EQ(result.time_ns, 1000);
  EXPECT_EQ(result.bytes_in + result.bytes_out, 0);
  EXPECT_DOUBLE_EQ(result.stall_ns, 0);
  EXPECT_DOUBLE_EQ(result.iteration_ns[0], 1000 + 0) << "cold fetches come before the first start, save b's";
}

TEST(Simulator, UnchangedContentsAreNotWrittenBack) {
  const Workload workload = taking_turns(500, false);
  OnDemandPolicy policy(workload);
  const Simulation result = simulate(workload, policy, kPlain);
  EXPECT_EQ(result.bytes_in, 2000);
  EXPECT_EQ(result.bytes_out, 0);
  EXPECT_DOUBLE_EQ(result.time_ns, 2 * (500 + 100));
  EXPECT_DOUBLE_EQ(result.stall_ns, 200);
}

TEST(Simulator, ChangedContentsGoOutPieceByPieceWhileOthersComeIn) {
  const Workload workload = taking_turns(500, true);
  OnDemandPolicy policy(workload);
  const Simulation result = simulate(workload, policy, kPlain);
  EXPECT_EQ(result.bytes_in, 2000);
  EXPECT_EQ(result.bytes_out, 2000);
  // The first piece out and the last piece in go alone (10 ns each), the nine pairs between at 8 bytes per
  // nanosecond.
  EXPECT_DOUBLE_EQ(result.time_ns, 2 * (500 + 10 + 9 * 12.5 + 10));
}

TEST(Simulator, GapsOfTheProgramRemain) {
  Workload workload = taking_turns(500, false);
  workload.operations[1].gap_ns = 30;
  OnDemandPolicy policy(workload);
  EXPECT_DOUBLE_EQ(simulate(workload, policy, kPlain).time_ns, 2 * (500 + 100)) << "the fetch takes longer";
  workload.budget = 2000;
  OnDemandPolicy again(workload);
  EXPECT_DOUBLE_EQ(simulate(workload, again, kPlain).time_ns, 500 + 30 + 500);
}

TEST(Simulator, IsDeterministic) {
  const Workload workload = random_workload(7, 30, 40);
  LmsEarlyPolicy one(workload);
  LmsEarlyPolicy two(workload);
  EXPECT_EQ(simulate(workload, one).starts_ns, simulate(workload, two).starts_ns);
}

/// lms-early in an independent model of the same job: 1.33, 1.42, 1.48 times the bound at 1.33, 1.5, 2 times
/// the budget.
TEST(Simulator, Gpt2InSinglePrecisionUnderLmsEarly) {
  Workload workload = transformer_training({});
  const std::int64_t all = footprint(workload);
  for (const double factor : {1.33, 1.5, 2.0}) {
    workload.budget = static_cast<std::int64_t>(static_cast<double>(all) / factor);
    OnDemandPolicy on_demand(workload);
    LmsEarlyPolicy early(workload);
    const double bound = lower_bound(workload).time_ns;
    const double slow = simulate(workload, on_demand).time_ns / bound;
    const double fast = simulate(workload, early).time_ns / bound;
    RecordProperty("factor",
                   std::to_string(factor) + ": " + std::to_string(slow) + " " + std::to_string(fast));
    EXPECT_GE(fast, 1.1);
    EXPECT_LE(fast, 1.7);
    EXPECT_GE(slow, fast);
  }
}

/// For every policy and workload: the budget holds, and between two starts of the same operation no less time
/// passes than the bound says.
void check(const Workload& workload, Policy& policy, const SimulationOptions& options, const Bound& bound) {
  const Simulation result = simulate(workload, policy, options);
  RC_ASSERT(result.peak_bytes <= workload.budget);
  const std::size_t n = workload.operations.size();
  RC_ASSERT(result.starts_ns.size() == n * static_cast<std::size_t>(options.iterations) + 1);
  const std::size_t first = bound.chain.front().from;
  for (std::size_t at = first + n; at < result.starts_ns.size(); at += n) {
    RC_ASSERT(result.starts_ns[at] - result.starts_ns[at - n] >= bound.time_ns * (1 - 1e-9) - 1);
  }
}

RC_GTEST_PROP(SimulatorProperty, IsNeverFasterThanTheBound, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 2 + seed % 30, 1 + seed / 8 % 40);
  const Bound bound = lower_bound(workload);
  const SimulationOptions options{.chunk_bytes = std::int64_t{1'000'000} * (1 + seed % 50),
                                  .run_ahead = 1 + seed % 9};
  OnDemandPolicy on_demand(workload);
  check(workload, on_demand, options, bound);
  LmsPolicy lms(workload);
  check(workload, lms, options, bound);
  LmsEarlyPolicy early(workload);
  check(workload, early, options, bound);
}

TEST(RecencyList, WhatWasAwayCountsFromItsNextLaunchOn) {
  Workload workload;
  workload.budget = 100;
  for (const char* name : {"a", "b", "c"}) workload.tensors.push_back({.name = name, .size = 10});
  Memory memory(workload);
  RecencyList list(3);
  const auto launch = [&](std::uint32_t tensor) {
    list.touch(tensor);
    memory.grab(tensor, 10);
    memory[tensor].present = 10;
  };
  EXPECT_EQ(list.oldest_evictable(memory), std::nullopt) << "nothing is on the card";
  launch(1);
  launch(0);
  EXPECT_EQ(list.oldest_evictable(memory), 1u);
  memory.drop(1, 10);
  EXPECT_EQ(list.oldest_evictable(memory), 0u);
  launch(1);
  launch(2);
  memory[0].pins = 1;
  EXPECT_EQ(list.oldest_evictable(memory), 1u);
  memory[0].pins = 0;
  EXPECT_EQ(list.oldest_evictable(memory), 0u) << "still the oldest";
}

}  // namespace
}  // namespace tferry::analyzer
