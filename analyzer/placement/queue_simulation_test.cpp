#include "analyzer/placement/queue_simulation.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

using Kind = Predecessor::Kind;

constexpr SimulationOptions kNoLatency{.chunk_bytes = 1 << 24, .chunk_latency_ns = 0};

/// Operations of 100 ns each; the link carries a byte a nanosecond each way, also both ways at once.
Workload operations(std::size_t count) {
  Workload workload;
  workload.operations.resize(count, {"op", 100, 0, {}});
  workload.link = {1, 1, 1, 1};
  return workload;
}

/// What operation 0 used leaves, and operation `needed` needs it again; operation 2 is the last to use the
/// memory in between.
Schedule one_tensor(std::int64_t bytes, std::uint32_t needed) {
  Schedule schedule;
  schedule.leaves = {{0, bytes}};
  schedule.returns = {{3, needed, bytes, {{Kind::kLeave, 0, 0}, {Kind::kOperation, 2, 0}}}};
  schedule.submissions = {{3, 0, 0}};
  return schedule;
}

TEST(QueueSimulation, NothingThatMovesTakesTheTimeOfTheOperations) {
  Workload workload = operations(5);
  workload.operations[3].gap_ns = 30;
  const QueueSimulation simulated = simulate_queues(workload, {}, kNoLatency);
  EXPECT_DOUBLE_EQ(simulated.time_ns, 530);
  EXPECT_DOUBLE_EQ(simulated.starts_ns[3], 330);
  EXPECT_DOUBLE_EQ(simulated.ends_ns[4], 530);
}

TEST(QueueSimulation, WhatIsBackInTimeCostsNothing) {
  const QueueSimulation simulated = simulate_queues(operations(6), one_tensor(100, 4), kNoLatency);
  EXPECT_DOUBLE_EQ(simulated.time_ns, 600);
  EXPECT_EQ(simulated.late_returns, 0u);
}

TEST(QueueSimulation, AnOperationWaitsForWhatItNeeds) {
  // Out from 100 to 350, back from 350 to 600; operation 4 was ready at 400.
  const QueueSimulation simulated = simulate_queues(operations(6), one_tensor(250, 4), kNoLatency);
  EXPECT_DOUBLE_EQ(simulated.time_ns, 800);
  EXPECT_DOUBLE_EQ(simulated.stalls_ns[4], 200);
  EXPECT_EQ(simulated.late_returns, 1u);
}

TEST(QueueSimulation, CopiesInWaitForTheLastUserOfTheirChunks) {
  // Out until 150, but operation 2 runs until 300.
  const QueueSimulation simulated = simulate_queues(operations(6), one_tensor(50, 3), kNoLatency);
  EXPECT_DOUBLE_EQ(simulated.stalls_ns[3], 50);
}

TEST(QueueSimulation, FreshMemoryIsWaitedForByItsFirstUse) {
  Schedule schedule;
  schedule.leaves = {{0, 250}};
  schedule.first_uses = {{2, {{Kind::kLeave, 0, 0}}}};
  const QueueSimulation simulated = simulate_queues(operations(4), schedule, kNoLatency);
  EXPECT_DOUBLE_EQ(simulated.stalls_ns[2], 150);
}

TEST(QueueSimulation, CopiesOfOneDirectionTakeTurnsAndDirectionsShareTheLink) {
  Workload workload = operations(4);
  workload.link = {1, 1, 0.5, 0.5};
  Schedule schedule;
  // Two leave after operation 0; the second's memory is used by operation 1.
  schedule.leaves = {{0, 50}, {0, 50}};
  schedule.first_uses = {{1, {{Kind::kLeave, 1, 0}}}};
  EXPECT_DOUBLE_EQ(simulate_queues(workload, schedule, kNoLatency).stalls_ns[1], 100);
  // The first comes back at once, while the second leaves: both at half the rate.
  schedule.returns = {{1, 3, 50, {{Kind::kLeave, 0, 0}}}};
  schedule.submissions = {{1, 0, 0}};
  EXPECT_DOUBLE_EQ(simulate_queues(workload, schedule, kNoLatency).stalls_ns[1], 150);
}

// A transfer in first that has to wait holds up those behind it: the order decides.
TEST(QueueSimulation, ReturnsAreOrderedByNeedAmongThoseThatCanStart) {
  const Workload workload = operations(8);
  Schedule schedule;
  schedule.leaves = {{0, 10}, {0, 10}};
  schedule.returns = {{6, 7, 100, {{Kind::kLeave, 0, 0}, {Kind::kOperation, 5, 0}}},
                      {2, 7, 100, {{Kind::kLeave, 1, 0}, {Kind::kOperation, 1, 0}}}};
  schedule.submissions = order_returns(workload, schedule, kNoLatency);
  ASSERT_EQ(schedule.submissions.size(), 2u);
  EXPECT_EQ(schedule.submissions[0].transfer, 1u);
  EXPECT_EQ(schedule.submissions[0].position, 2u);
  EXPECT_EQ(schedule.submissions[1].position, 6u);
  EXPECT_DOUBLE_EQ(simulate_queues(workload, schedule, kNoLatency).time_ns, 800);
  std::swap(schedule.submissions[0], schedule.submissions[1]);
  schedule.submissions[1].position = 6;
  EXPECT_DOUBLE_EQ(simulate_queues(workload, schedule, kNoLatency).time_ns, 900);
}

TEST(QueueSimulation, WhatLeavesAtTheEndReturnsInTheNextIteration) {
  const Workload workload = operations(4);
  Schedule schedule;
  schedule.leaves = {{3, 150}};
  schedule.returns = {{4, 6, 100, {{Kind::kLeave, 0, 0}}}};
  schedule.submissions = order_returns(workload, schedule, kNoLatency);
  ASSERT_EQ(schedule.submissions.size(), 1u);
  EXPECT_EQ(schedule.submissions[0].position, 0u);
  EXPECT_EQ(schedule.submissions[0].shift, 1);
  // Out until 150 of the next iteration, back at 250; operation 2 was ready at 200.
  EXPECT_DOUBLE_EQ(simulate_queues(workload, schedule, kNoLatency).stalls_ns[2], 50);
}

}  // namespace
}  // namespace tferry::analyzer
