#include "analyzer/bound/rank_bound.hpp"

#include "analyzer/simulator/policy_names.hpp"
#include "analyzer/simulator/ranks.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tferry::analyzer {
namespace {

std::vector<const Workload*> copies(const Workload& workload, std::size_t ranks) {
  return std::vector<const Workload*>(ranks, &workload);
}

TEST(RankBound, OneRankOnALinkOfItsOwnIsBoundByItself) {
  Workload workload = transformer_training({.layers = 2});
  workload.budget = footprint(workload) * 2 / 3;
  const RankBound bound = rank_bound(copies(workload, 1), workload.link, 1);
  EXPECT_DOUBLE_EQ(bound.time_ns, lower_bound(workload).time_ns);
  EXPECT_EQ(bound.limit, RankLimit::kOneRank);
}

TEST(RankBound, EnoughRanksAreBoundByTheLink) {
  Workload workload = transformer_training({.layers = 2});
  workload.budget = footprint(workload) / 2;
  const Bound one = lower_bound(workload);
  const double bytes_in = static_cast<double>(one.forced_in), bytes_out = static_cast<double>(one.forced_out);
  const RankBound bound = rank_bound(copies(workload, 16), workload.link, 4);
  EXPECT_GE(bound.time_ns, workload.link.time_for(16 * bytes_in, 16 * bytes_out));
  EXPECT_NE(bound.limit, RankLimit::kOneRank);
}

RC_GTEST_PROP(RankBoundProperty, NoOrderOfTransfersIsFaster, (std::uint32_t seed)) {
  const Workload workload = random_workload(seed, 3 + seed % 20, 2 + seed / 8 % 20);
  const std::size_t count = 2 + seed % 3;
  RankOptions options;
  options.links = {workload.link};
  options.sharing = static_cast<Sharing>(seed % 4);
  options.iterations_per_round = 1 + seed % 2 * 2;
  options.rounds = 6;
  options.simulation.chunk_bytes = 4'000'000;
  std::vector<std::unique_ptr<Policy>> policies;
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < count; ++r) {
    policies.push_back(make_policy(seed % 2 == 0 ? "lms-early" : "on-demand", workload));
    ranks.push_back({&workload, policies.back().get(), 0});
  }
  const RankSimulation simulation = simulate_ranks(ranks, options);
  const RankBound bound = rank_bound(copies(workload, count), workload.link, options.iterations_per_round);
  RC_ASSERT(simulation.time_ns >= bound.time_ns * (1 - 1e-9) - 1);
  for (const Simulation& rank : simulation.by_rank) RC_ASSERT(rank.peak_bytes <= workload.budget);
}

}  // namespace
}  // namespace tferry::analyzer
