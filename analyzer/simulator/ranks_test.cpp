#include "analyzer/simulator/ranks.hpp"

#include "analyzer/simulator/policy_names.hpp"
#include "analyzer/workload/builder.hpp"
#include "analyzer/workload/random_workload.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tferry::analyzer {
namespace {

/// Reads two weights of 1000 bytes in turn, 10 bytes a ns, with memory for one: 200 ns of transfers an
/// iteration.
Workload taking_turns() {
  WorkloadBuilder builder("turns", "manual");
  const auto a = builder.persistent("a", 1000);
  const auto b = builder.persistent("b", 1000);
  builder.operation("read a", 1, {{a}, {}, {}});
  builder.operation("read b", 1, {{b}, {}, {}});
  Workload workload = builder.build();
  workload.budget = 1000;
  workload.link = {10, 10, 8, 8};
  return workload;
}

RankSimulation simulated(const Workload& workload, std::size_t count, std::vector<std::size_t> links,
                         RankOptions options) {
  options.simulation.chunk_bytes = 100;
  options.simulation.chunk_latency_ns = 0;
  std::vector<std::unique_ptr<Policy>> policies;
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < count; ++r) {
    policies.push_back(make_policy("on-demand", workload));
    ranks.push_back({&workload, policies.back().get(), links[r]});
  }
  return simulate_ranks(ranks, options);
}

TEST(Ranks, OneIsLikeTheSimulationOfOne) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const Workload workload = random_workload(seed, 2 + seed % 20, 1 + seed % 16);
    RankOptions options;
    options.links = {workload.link};
    options.rounds = 8;
    SimulationOptions alone = options.simulation;
    alone.chunk_bytes = 100'000;
    options.simulation = alone;
    const auto one = make_policy("lms-early", workload), other = make_policy("lms-early", workload);
    const SimulatedRank rank{&workload, one.get(), 0};
    alone.measured = 4;
    EXPECT_NEAR(simulate_ranks({&rank, 1}, options).time_ns, simulate(workload, *other, alone).time_ns, 1)
        << seed;
  }
}

TEST(Ranks, HaveALinkEachOrHalfOfOne) {
  const Workload workload = taking_turns();
  RankOptions options;
  options.links = {workload.link, workload.link};
  const double apart = simulated(workload, 2, {0, 1}, options).time_ns;
  EXPECT_NEAR(apart, 202, 1);
  EXPECT_NEAR(simulated(workload, 2, {0, 0}, options).time_ns, 2 * 200 + 2, 1);
  options.sharing = Sharing::kPriority;
  EXPECT_LE(simulated(workload, 2, {0, 0}, options).time_ns, 2 * 200 + 4);
}

TEST(Ranks, WaitForEachOtherAtTheBeginningOfARound) {
  const Workload quick = taking_turns();
  Workload slow = quick;
  for (Operation& operation : slow.operations) operation.duration_ns = 500;
  const auto one = make_policy("on-demand", quick), other = make_policy("on-demand", slow);
  const SimulatedRank ranks[] = {{&quick, one.get(), 0}, {&slow, other.get(), 1}};
  RankOptions options;
  options.links = {quick.link, quick.link};
  options.simulation.chunk_bytes = 100;
  options.simulation.chunk_latency_ns = 0;
  const RankSimulation simulation = simulate_ranks(ranks, options);
  EXPECT_NEAR(simulation.by_rank[0].time_ns, simulation.by_rank[1].time_ns, 1);
  EXPECT_THROW(simulate_ranks(std::vector<SimulatedRank>{{&quick, one.get(), 7}}, options),
               std::invalid_argument);
}

TEST(SharedLink, WhatOneCannotUseTheOthersGet) {
  SharedLink link({10, 10, 10, 10}, {{2, 2, 2, 2}, {10, 10, 10, 10}}, Sharing::kFair, 0);
  link.port(0).start(TransferPort::kIn, 100, 0);
  link.port(1).start(TransferPort::kIn, 80, 0);
  EXPECT_DOUBLE_EQ(link.time_left(), 10);  // 80 at 8, not at 5
  link.advance(10);
  EXPECT_TRUE(link.ended(1, TransferPort::kIn));
  EXPECT_DOUBLE_EQ(link.time_left(), 40);
}

TEST(SharedLink, TurnsGoToTheNearestNeed) {
  SharedLink link({10, 10, 10, 10}, {3, LinkRates{10, 10, 10, 10}}, Sharing::kDeadline, 0);
  link.port(0).start(TransferPort::kIn, 100, 50);
  link.port(1).start(TransferPort::kIn, 100, 90);
  link.port(2).start(TransferPort::kIn, 100, 20);
  link.advance(link.time_left());
  EXPECT_TRUE(link.ended(2, TransferPort::kIn));
  link.advance(link.time_left());
  EXPECT_TRUE(link.ended(0, TransferPort::kIn));
}

/// FACTS: faults 9.7, prefetch 38 in pieces of 16 MiB; to the host 8 to 16, several threads 11.
TEST(PolicyNames, RatesOfManagedMemoryAreTheMeasuredOnes) {
  const Workload workload = taking_turns();
  EXPECT_EQ(workload_under("lms", workload).link, workload.link);
  EXPECT_EQ(workload_under("naive-um", workload).link.in, 9.7);
  EXPECT_EQ(workload_under("naive-um", workload).link.out, 12);
  EXPECT_EQ(workload_under("pump", workload).link.in, 38);
  EXPECT_EQ(workload_under("pump", workload).link.out, 11);
  for (const char* name : {"on-demand", "lms", "lms-early", "pump", "naive-um"}) {
    EXPECT_EQ(make_policy(name, workload)->name(), name);
  }
  EXPECT_THROW(make_policy("swap-everything", workload), std::invalid_argument);
}

}  // namespace
}  // namespace tferry::analyzer
