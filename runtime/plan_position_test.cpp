#include "runtime/plan_position.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace tferry::runtime {
namespace {

/// An iteration as text, a letter an operation.
PlanIndex iteration(const std::string& operations) {
  trace::FlatPlan plan;
  plan.chunk_bytes = 4096;
  plan.budget_bytes = 4096;
  plan.chunk_count = 1;
  for (const char operation : operations) {
    plan.operations.push_back({static_cast<std::uint64_t>(operation), 0, 0});
  }
  EXPECT_EQ("", trace::flat_plan_error(plan));
  return PlanIndex(std::move(plan));
}

/// What the program does, and under each operation where it was found: the last digit of its position, '.'
/// for nowhere.
std::string positions(PlanPosition& position, const std::string& program) {
  std::string result;
  for (const char operation : program) {
    const auto match = position.advance(static_cast<std::uint64_t>(operation));
    result += match.position == PlanPosition::kNone ? '.' : static_cast<char>('0' + match.position % 10);
  }
  return result;
}
std::string positions(const PlanIndex& index, const std::string& program) {
  PlanPosition position(index);
  return positions(position, program);
}

TEST(PlanPosition, IsFoundByFourOperationsThatOccurOnceAndKeptFromThereOn) {
  const PlanIndex index = iteration("abcdefgh");
  EXPECT_EQ("...34567012345670", positions(index, "abcdefghabcdefgha"));
}

TEST(PlanPosition, IsFoundInTheMiddleOfAnIteration) {
  const PlanIndex index = iteration("abcdefgh");
  EXPECT_EQ("......70123", positions(index, "xyzefghabcd"));
}

TEST(PlanPosition, WaitsForAnOperationThatTellsOneLayerFromTheOther) {
  // Layers "bcd" are alike: behind them only the head "h" tells where the program is.
  const PlanIndex index = iteration("abcdbcdbcdbcdh");
  EXPECT_EQ("......301234", positions(index, "bcdbcdhabcdb"));
}

TEST(PlanPosition, AnOperationMoreCostsTheNextOne) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  positions(position, "abcdefgh");
  EXPECT_EQ("012.34567", positions(position, "abcxdefgh"));
}

TEST(PlanPosition, AnOperationLessCostsNothing) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  positions(position, "abcdefgh");
  EXPECT_EQ("0124567", positions(position, "abcefgh"));
}

TEST(PlanPosition, AmongLikeOperationsThreeInARowTellTheNearest) {
  const PlanIndex index = iteration("abcbcbcbcbcbcbcbcbcd");
  PlanPosition position(index);
  positions(position, "abcbcbcbcbcbcbcbcbcd");
  ASSERT_TRUE(position.in_plan());
  EXPECT_EQ("01234....789012345678", positions(position, "abcbcxybcbcbcbcbcbcbc"));
}

TEST(PlanPosition, ALongExcursionEndsWhereAWindowMatches) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  positions(position, "abcdefghabc");
  EXPECT_EQ("....................2345670", positions(position, "uvwxyzuvwxyzuvwxyzabcdefgha"));
}

TEST(PlanPosition, TellsThatANewIterationBeganMeanwhile) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  positions(position, "abcdefghabcdef");
  positions(position, "xx");
  const auto match = position.advance('a');
  EXPECT_EQ(0U, match.position);
  EXPECT_TRUE(match.found);
  EXPECT_TRUE(match.next_iteration);
}

TEST(PlanPosition, AnOperationThatWasRefusedMayComeAgain) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  positions(position, "abcdefgh");
  const auto match = position.advance('a');
  position.retreat(match.position);
  EXPECT_EQ("0123", positions(position, "abcd"));
}

TEST(PlanPosition, AnotherProgramIsNowhere) {
  const PlanIndex index = iteration("abcdefgh");
  PlanPosition position(index);
  EXPECT_EQ("............", positions(position, "hgfedcbahgfe"));
  EXPECT_EQ(12U, position.astray());
}

TEST(PlanPosition, ASingleOperationIsAnIteration) {
  const PlanIndex index = iteration("a");
  EXPECT_EQ("...00.0", positions(index, "aaaaaba"));
}

TEST(PlanPosition, WhatRepeatsAShorterSequenceIsNotFound) {
  const PlanIndex index = iteration("abab");
  EXPECT_EQ("........", positions(index, "abababab"));
}

/// Operations by number: an iteration of few kinds, so that many windows occur more than once.
RC_GTEST_PROP(PlanPositionProperty, IsRightAgainAfterAnyExcursion, ()) {
  const auto kinds = *rc::gen::inRange(2, 20);
  const auto length = *rc::gen::inRange(20, 120);
  trace::FlatPlan plan;
  plan.chunk_bytes = plan.budget_bytes = 4096;
  plan.chunk_count = 1;
  for (int i = 0; i < length; ++i) {
    plan.operations.push_back({static_cast<std::uint64_t>(*rc::gen::inRange(1, kinds + 1)), 0, 0});
  }
  plan.operations.push_back({1000, 0, 0});  // tells every position from here on, once an iteration
  const PlanIndex index(plan);
  PlanPosition position(index);
  const auto run = [&](std::uint32_t from, std::uint32_t to) {
    PlanPosition::Match last;
    for (std::uint32_t i = from; i < to; ++i) last = position.advance(index.signature(i % index.size()));
    return last;
  };
  std::uint32_t at = 0;
  for (int round = 0; round < 4; ++round) {
    const auto extra = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 30));
    for (const int signature : extra) position.advance(static_cast<std::uint64_t>(signature));
    const auto skipped = static_cast<std::uint32_t>(*rc::gen::inRange(0, length));
    // Whatever it took itself to be at meanwhile: an iteration later it knows.
    const std::uint32_t from = at + skipped;
    at = from + 2 * index.size() + static_cast<std::uint32_t>(*rc::gen::inRange(0, length));
    const auto match = run(from, at);
    RC_ASSERT(match.position == (at - 1) % index.size());
    RC_ASSERT(position.in_plan());
  }
}

}  // namespace
}  // namespace tferry::runtime
