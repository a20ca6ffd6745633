#include "runtime/plan_judge.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tferry::runtime {
namespace {

using Verdict = PlanJudge::Verdict;

void without(PlanJudge& judge, std::initializer_list<std::int64_t> times) {
  for (const std::int64_t ns : times) judge.took_without(ns);
}
void under(PlanJudge& judge, std::initializer_list<std::int64_t> times) {
  for (const std::int64_t ns : times) judge.took_under(ns);
}

TEST(PlanJudge, APlanThatIsFasterThanTheIterationsBeforeItStays) {
  PlanJudge judge;
  without(judge, {900, 300, 310, 305});
  judge.adopted();
  under(judge, {800, 230, 225});
  EXPECT_EQ(Verdict::kStay, judge.judge(220)) << "too early to say";
  under(judge, {235});
  EXPECT_EQ(Verdict::kStay, judge.judge(220));
  EXPECT_TRUE(judge.wanted());
  under(judge, {900, 900, 900});
  EXPECT_EQ(Verdict::kStay, judge.judge(220)) << "it was judged; what slows the job now is something else";
}

TEST(PlanJudge, ASlowerOneIsLeftForGood) {
  PlanJudge judge;
  without(judge, {300, 310, 305});
  judge.adopted();
  under(judge, {800, 330, 320, 325});
  EXPECT_EQ(Verdict::kLeave, judge.judge(220));
  EXPECT_EQ(325, judge.under_ns());
  EXPECT_EQ(305, judge.without_ns());
  EXPECT_FALSE(judge.wanted());
  judge.left();
  without(judge, {300, 300, 300, 300});
  EXPECT_EQ(Verdict::kStay, judge.judge(220)) << "said once";
  EXPECT_FALSE(judge.wanted());
}

TEST(PlanJudge, ThreeInAHundredAreNotWorthAChange) {
  PlanJudge judge;
  without(judge, {300, 300, 300});
  judge.adopted();
  under(judge, {800, 308, 308, 308});
  EXPECT_EQ(Verdict::kStay, judge.judge(300));
  EXPECT_TRUE(judge.wanted());
}

// Adopted from the start: the iterations before it were those in which the job warms up.
TEST(PlanJudge, OneThatDoesWhatItPredictsNeedsNoComparison) {
  PlanJudge judge;
  judge.adopted();
  under(judge, {800, 230, 225, 235});
  EXPECT_EQ(Verdict::kStay, judge.judge(220));
  EXPECT_TRUE(judge.wanted());
}

TEST(PlanJudge, OneThatMissesItsPredictionIsLeftOnTrial) {
  for (const std::int64_t otherwise : {250, 400}) {
    PlanJudge judge;
    without(judge, {900});
    judge.adopted();
    under(judge, {800, 300, 310, 305});
    ASSERT_EQ(Verdict::kTry, judge.judge(220));
    EXPECT_FALSE(judge.wanted());
    judge.left();
    under(judge, {1});  // what was on its way
    without(judge, {700, otherwise, otherwise});
    EXPECT_EQ(Verdict::kStay, judge.judge(220));
    EXPECT_FALSE(judge.wanted()) << "not yet";
    without(judge, {otherwise});
    EXPECT_EQ(otherwise < 300 ? Verdict::kLeave : Verdict::kStay, judge.judge(220));
    EXPECT_EQ(otherwise > 300, judge.wanted());
    EXPECT_EQ(otherwise, judge.without_ns());
    EXPECT_EQ(305, judge.under_ns());
    if (!judge.wanted()) continue;
    judge.adopted();
    under(judge, {800, 305, 305, 305});
    EXPECT_EQ(Verdict::kStay, judge.judge(220)) << "one trial is enough";
  }
}

TEST(PlanJudge, SoIsOneThatIsSlowerThanTheOnlyIterationSeenBeforeIt) {
  PlanJudge judge;
  without(judge, {280});
  judge.adopted();
  under(judge, {800, 300, 300, 300});
  EXPECT_EQ(Verdict::kTry, judge.judge(290));
}

TEST(PlanJudge, APlanWithoutAPredictionIsNotJudged) {
  PlanJudge judge;
  without(judge, {100, 100, 100});
  judge.adopted();
  under(judge, {800, 300, 300, 300});
  EXPECT_EQ(Verdict::kStay, judge.judge(0));
  EXPECT_TRUE(judge.wanted());
}

TEST(PlanJudge, AJobThatLeavesItsPlanBeginsAnew) {
  PlanJudge judge;
  without(judge, {300, 300, 300});
  judge.adopted();
  under(judge, {800, 900, 900});
  judge.left();
  EXPECT_EQ(Verdict::kStay, judge.judge(220));
  EXPECT_TRUE(judge.wanted());
  judge.adopted();
  under(judge, {800, 230, 230, 230});
  EXPECT_EQ(Verdict::kStay, judge.judge(220));
  EXPECT_EQ(230, judge.under_ns());
}

}  // namespace
}  // namespace tferry::runtime
