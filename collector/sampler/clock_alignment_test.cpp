#include "collector/sampler/clock_alignment.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>

namespace tferry::collector {
namespace {

/// A round as it looks when sampling begins and ends somewhere inside the calls, samples being `interval`
/// long and host = GPU + `offset`.
ClockAlignment::Round round_at(std::int64_t start, std::int64_t duration, std::int64_t call,
                               std::int64_t begin_in, std::int64_t end_in, std::int64_t interval,
                               std::int64_t offset) {
  ClockAlignment::Round round;
  round.host_before_start_ns = start;
  round.host_after_start_ns = start + call;
  round.host_before_stop_ns = start + duration;
  round.host_after_stop_ns = start + duration + call;
  round.gpu_first_ns = start + begin_in - offset;
  const std::int64_t end = start + duration + end_in - offset;
  round.gpu_last_ns = round.gpu_first_ns + (end - round.gpu_first_ns) / interval * interval;
  round.longest_sample_ns = interval;
  return round;
}

TEST(ClockAlignmentTest, KnowsNothingBeforeTheFirstRound) { EXPECT_FALSE(ClockAlignment().known()); }

RC_GTEST_PROP(ClockAlignmentTest, TheTrueOffsetIsWithinTheStatedError, ()) {
  const std::int64_t offset =
      *rc::gen::inRange<std::int64_t>(-2'000'000'000'000'000'000, 2'000'000'000'000'000'000);
  ClockAlignment clock;
  std::int64_t at = *rc::gen::inRange<std::int64_t>(1'000'000'000, 1'000'000'000'000);
  const int rounds = *rc::gen::inRange(1, 8);
  std::int64_t last_error = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t call = *rc::gen::inRange<std::int64_t>(1'000, 3'000'000);
    const std::int64_t interval = *rc::gen::inRange<std::int64_t>(20'000, 1'000'000);
    const std::int64_t begin = *rc::gen::inRange<std::int64_t>(0, call),
                       end = *rc::gen::inRange<std::int64_t>(0, call);
    RC_ASSERT(clock.add(round_at(at, 5'000'000, call, begin, end, interval, offset)));
    RC_ASSERT(std::abs(clock.offset_ns() - offset) <= clock.error_ns());
    if (i > 0) RC_ASSERT(clock.error_ns() <= last_error);
    last_error = clock.error_ns();
    at += 10'000'000;
  }
}

TEST(ClockAlignmentTest, FollowsADriftingClock) {
  ClockAlignment clock;
  ASSERT_TRUE(clock.add(round_at(1'000'000'000, 5'000'000, 100'000, 50'000, 50'000, 100'000, 777)));
  clock.forget();
  EXPECT_TRUE(clock.known());
  ASSERT_TRUE(clock.add(round_at(20'000'000'000, 10'000'000'000, 100'000, 50'000, 50'000, 100'000, 900'777)));
  EXPECT_NEAR(clock.offset_ns(), 900'777, 200'000);
  EXPECT_LE(clock.error_ns(), 200'000);
}

TEST(ClockAlignmentTest, RoundsThatContradictEachOtherWidenTheError) {
  ClockAlignment clock;
  ASSERT_TRUE(clock.add(round_at(1'000'000'000, 5'000'000, 10'000, 5'000, 5'000, 20'000, 0)));
  ASSERT_TRUE(clock.add(round_at(1'010'000'000, 5'000'000, 10'000, 5'000, 5'000, 20'000, 1'000'000)));
  EXPECT_GE(clock.error_ns(), 490'000);
}

TEST(ClockAlignmentTest, ARoundThatContradictsItselfIsRefused) {
  ClockAlignment clock;
  ClockAlignment::Round round = round_at(1'000'000'000, 5'000'000, 10'000, 5'000, 5'000, 20'000, 0);
  round.gpu_first_ns -= 60'000'000;
  EXPECT_FALSE(clock.add(round));
  EXPECT_FALSE(clock.known());
}

}  // namespace
}  // namespace tferry::collector
