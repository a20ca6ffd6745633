#include "runtime/coordination/turns_trial.hpp"

#include <gtest/gtest.h>

namespace tferry::runtime {
namespace {

/// Iterations from a plan's adoption in number 10 on, that take so long with turns and without.
TurnsTrial::Times tried(std::int64_t with, std::int64_t without, int lost = 0) {
  TurnsTrial trial;
  trial.begin(10);
  for (std::uint64_t i = 0; i < 40; ++i) {
    if (trial.times()) return *trial.times();
    // The first ones after each change are slow, and times come late.
    const bool turns = trial.turns_in(i);
    const bool settles = i > 0 && (i < 12 || turns != trial.turns_in(i - 2));
    if (lost-- > 0 && i > 12) continue;
    trial.took(i, settles ? 1000 : turns ? with : without);
  }
  ADD_FAILURE() << "no result";
  return {};
}

TEST(TurnsTrial, ComparesIterationsWithTurnsAndWithout) {
  const TurnsTrial::Times times = tried(100, 130);
  EXPECT_EQ(100, times.with_ns);
  EXPECT_EQ(130, times.without_ns);
}

TEST(TurnsTrial, TakesTurnsUntilItBeginsAndAfterItsEnd) {
  TurnsTrial trial;
  EXPECT_TRUE(trial.turns_in(500));
  trial.begin(10);
  trial.begin(400);  // a later plan: it is not tried again
  std::vector<std::uint64_t> without;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (!trial.turns_in(i)) without.push_back(i);
  }
  ASSERT_EQ(TurnsTrial::kSettling + TurnsTrial::kTimed, without.size());
  EXPECT_EQ(10 + TurnsTrial::kSettling + TurnsTrial::kTimed, without.front());
}

TEST(TurnsTrial, AnIterationWithoutATimeDoesNotSpoilIt) { EXPECT_EQ(100, tried(100, 130, 15).with_ns); }

TEST(TurnsTrial, TheSlowestRankDecides) {
  EXPECT_TRUE(TurnsTrial::turns_pay({{100, 90}, {100, 120}})) << "the first waits for the second anyway";
  EXPECT_FALSE(TurnsTrial::turns_pay({{100, 90}, {130, 120}}));
  EXPECT_TRUE(TurnsTrial::turns_pay({{100, 100}})) << "a tie, with noise, is none of losing";
}

}  // namespace
}  // namespace tferry::runtime
