// The planner against the shortest periods that an exact solver proved (slot_cases.txt, made by
// `tferry-bench exact --make N`): small jobs that on-demand swapping makes at least 15 % slower than that.
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/slot_workload.hpp"
#ifdef TFERRY_HAVE_CBC
#include "analyzer/exact/slot_program.hpp"
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

namespace tferry::analyzer {
namespace {

struct Case {
  std::uint32_t seed = 0;
  std::int64_t period = 0;  ///< in slots, the shortest
};

std::vector<Case> cases() {
  std::ifstream in(TFERRY_SLOT_CASES);
  EXPECT_TRUE(in) << TFERRY_SLOT_CASES;
  std::vector<Case> all;
  for (Case one; in >> one.seed >> one.period;) all.push_back(one);
  return all;
}

LookaheadOptions options(const Slots& slots) {
  LookaheadOptions options;
  options.rounds = 600;
  options.simulation.chunk_bytes = slots.chunk_bytes;
  options.simulation.chunk_latency_ns = 0;
  return options;
}

TEST(ExactCases, PlansComeWithinTwoPerCentOfTheShortestPeriodOnAverage) {
  const Slots slots;
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 500u);
  double sum = 0, worst = 0;
  std::size_t beyond = 0;
  for (const Case& one : all) {
    const Workload workload = slot_workload(one.seed, slots);
    const double shortest = static_cast<double>(one.period * slots.slot_ns);
    OnDemandPolicy policy(workload);
    ASSERT_GE(simulate(workload, policy, options(slots).simulation).time_ns, 1.15 * shortest) << one.seed;
    const double ratio = plan_lookahead(workload, options(slots)).predicted_ns / shortest;
    ASSERT_GE(ratio, 1 - 1e-6) << "seed " << one.seed << ": faster than what was proven to be the shortest";
    sum += ratio;
    worst = std::max(worst, ratio);
    beyond += ratio > 1.05;
  }
  RecordProperty("average", std::to_string(sum / static_cast<double>(all.size())));
  RecordProperty("worst", std::to_string(worst));
  EXPECT_LE(sum / static_cast<double>(all.size()), 1.02);
  EXPECT_LE(beyond, all.size() / 10) << "more than 5 % off";
}

#ifdef TFERRY_HAVE_CBC
TEST(ExactCases, TheShortestPeriodsAreProvenAgain) {
  const Slots slots;
  const std::vector<Case> all = cases();
  int proven = 0;
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(1, all.size() / 12)) {
    const Workload workload = slot_workload(all[i].seed, slots);
    const auto shorter = schedule_exists(workload, slots, all[i].period - 1, 20);
    const auto same = schedule_exists(workload, slots, all[i].period, 20);
    if (!shorter || !same) continue;
    EXPECT_FALSE(*shorter) << "seed " << all[i].seed;
    EXPECT_TRUE(*same) << "seed " << all[i].seed;
    ++proven;
  }
  EXPECT_GE(proven, 6);
}

// What makes the worst cases: the solver copies a tensor out ahead, while it stays, and lets it leave for
// nothing later.
TEST(ExactCases, WithoutCopiesAheadTheWorstPlansAreTheBestThereAre) {
  const Slots slots;
  int proven = 0;
  for (const Case& one : cases()) {
    if (one.seed != 2742 && one.seed != 4185) continue;  // 18 and 16 % off
    const Workload workload = slot_workload(one.seed, slots);
    const double planned =
        plan_lookahead(workload, options(slots)).predicted_ns / static_cast<double>(slots.slot_ns);
    EXPECT_GT(planned, 1.1 * static_cast<double>(one.period));
    const auto period = shortest_period(workload, slots, one.period, std::llround(planned), 30, Copies::kEnd);
    if (!period) continue;
    EXPECT_EQ(std::llround(planned), *period);
    ++proven;
  }
  EXPECT_GE(proven, 1);
}

/// Two weights that are read in turn and memory for one: every chunk comes in twice an iteration, and nothing
/// of it while an operation runs.
TEST(SlotProgram, FindsTheShortestPeriodThatCanBeCountedByHand) {
  const Slots slots;
  Workload workload{"turns", "manual", {}, {}, 0, {}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    workload.tensors.push_back({"t" + std::to_string(i), 3 * slots.chunk_bytes, true, 0, 0});
    workload.operations.push_back({"op" + std::to_string(i), 2 * slots.slot_ns, 0, {{i, AccessKind::kRead}}});
  }
  workload.budget = 3 * slots.chunk_bytes;
  EXPECT_EQ(shortest_period(workload, slots, 4, 30, 20), 2 * (2 + 3));
  workload.budget = 4 * slots.chunk_bytes;  // one chunk can come early
  EXPECT_EQ(shortest_period(workload, slots, 4, 30, 20), 2 * (2 + 2));
}
#endif

}  // namespace
}  // namespace tferry::analyzer
