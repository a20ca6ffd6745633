#include "runtime/plan_bindings.hpp"

#include "tests/runtime/plan_story.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tferry::runtime {
namespace {

using runtime_test::PlanStory;

constexpr std::uint64_t kChunk = 4096;
constexpr auto kSmall = static_cast<std::int64_t>(kChunk);
constexpr std::int64_t kLarge = 2 * kSmall;
constexpr std::uint32_t kNone = PlanBindings::kNone;

/// Two weights of one size, a third of another; two activations and a gradient of one size.
class PlanBindingsTest : public ::testing::Test {
 protected:
  enum : int { kFirst, kSecond, kOther, kOne, kTwo, kGradient };
  enum : std::uint32_t { kForward1, kForward2, kLoss, kUpdate };

  static PlanIndex make() {
    PlanStory story(kChunk);
    story.persistent(kLarge);
    story.persistent(kLarge);
    story.persistent(kSmall);
    story.allocate(kLarge);
    story.operation(11, {kFirst, kOne});
    story.allocate(kLarge);
    story.operation(12, {kOne, kOther, kTwo});
    story.free(kOne);
    story.allocate(kLarge);
    story.operation(13, {kTwo, kGradient});
    story.free(kTwo);
    story.operation(14, {kGradient, kFirst, kSecond});
    story.free(kGradient);
    return PlanIndex(story.plan());
  }

  const PlanIndex index_ = make();
  PlanBindings bindings_{index_, 0};
};

TEST_F(PlanBindingsTest, AllocationsAreKnownBySizeAndHowManyOfItThereWere) {
  EXPECT_EQ(static_cast<std::uint32_t>(kOne), bindings_.next_of(kLarge));
  EXPECT_EQ(kNone, bindings_.next_of(kSmall));
  bindings_.allocated(0x1000, kLarge);
  bindings_.allocated(0x2000, kLarge);
  bindings_.freed(0x1000);
  bindings_.allocated(0x3000, kLarge);
  EXPECT_EQ(0U, bindings_.address_of(kOne));
  EXPECT_EQ(0x2000U, bindings_.address_of(kTwo));
  EXPECT_EQ(0x3000U, bindings_.address_of(kGradient));
  EXPECT_EQ(kNone, bindings_.next_of(kLarge)) << "the iteration has no fourth";
  bindings_.iteration_ended();
  EXPECT_EQ(static_cast<std::uint32_t>(kOne), bindings_.next_of(kLarge));
}

TEST_F(PlanBindingsTest, PersistentTensorsAreKnownByWhoNamesThem) {
  EXPECT_EQ(3U, bindings_.unknown());
  bindings_.allocated(0x1000, kLarge);
  bindings_.named(kForward1, std::vector<NamedAllocation>{{0xA000, kLarge}, {0x1000, kLarge}});
  EXPECT_EQ(0xA000U, bindings_.address_of(kFirst));
  bindings_.allocated(0x2000, kLarge);
  bindings_.named(kForward2,
                  std::vector<NamedAllocation>{{0x1000, kLarge}, {0xC000, kSmall}, {0x2000, kLarge}});
  EXPECT_EQ(0xC000U, bindings_.address_of(kOther));
  bindings_.named(kUpdate, std::vector<NamedAllocation>{
                               {0x3000, kLarge}, {0xA000, kLarge}, {0xB000, kLarge}, {0xE000, kLarge}});
  EXPECT_EQ(0U, bindings_.address_of(kSecond)) << "two could be it";
  bindings_.allocated(0x3000, kLarge);
  bindings_.named(kUpdate,
                  std::vector<NamedAllocation>{{0x3000, kLarge}, {0xA000, kLarge}, {0xB000, kLarge}});
  EXPECT_EQ(0xB000U, bindings_.address_of(kSecond));
  EXPECT_EQ(0U, bindings_.unknown());
}

TEST_F(PlanBindingsTest, WhatIsSettledReplacesWhatWasTakenForIt) {
  bindings_.named(kForward1, std::vector<NamedAllocation>{{0xE000, kLarge}, {0x1000, kLarge}});
  EXPECT_EQ(0xE000U, bindings_.address_of(kFirst));
  bindings_.settle(std::vector<PlanMatching::Match>{{0xA000, kFirst}, {0xE000, kSecond}});
  EXPECT_EQ(0xA000U, bindings_.address_of(kFirst));
  EXPECT_EQ(0xE000U, bindings_.address_of(kSecond));
  EXPECT_EQ(1U, bindings_.unknown());
}

/// Six activations of one size, each made before the operation that names it first.
class PlanBindingsShift : public ::testing::Test {
 protected:
  static PlanIndex make() {
    PlanStory story(kChunk);
    for (int i = 0; i < 6; ++i) {
      const int activation = story.allocate(kLarge);
      story.operation(static_cast<std::uint64_t>(i + 1), {activation});
    }
    return PlanIndex(story.plan());
  }
  static std::uint64_t address(std::uint32_t i) { return 0x1000 * (i + 1); }
  void step(std::uint32_t i, std::uint64_t named) {
    bindings_.allocated(address(i), kLarge);
    bindings_.named(i, std::vector<NamedAllocation>{{named, kLarge}});
  }

  const PlanIndex index_ = make();
  PlanBindings bindings_{index_, 0};
};

TEST_F(PlanBindingsShift, AnAllocationMoreIsNoticedWhereThreeInARowAreFirstNamed) {
  bindings_.allocated(0x9000, kLarge);  // the program's own, of that size by chance
  for (const std::uint32_t i : {0U, 1U, 2U}) {
    EXPECT_EQ(i + 1, bindings_.next_of(kLarge));
    step(i, address(i));
  }
  EXPECT_EQ(3U, bindings_.next_of(kLarge));
  EXPECT_EQ(address(2), bindings_.address_of(2));
  EXPECT_EQ(kNone, bindings_.tensor_at(0x9000));
}

TEST_F(PlanBindingsShift, AStaleAddressNowAndThenShiftsNothing) {
  step(0, 0x7000);
  step(1, address(0));
  step(2, address(2));
  step(3, address(1));
  step(4, address(3));
  for (const std::uint32_t i : {0U, 1U, 2U, 3U, 4U}) EXPECT_EQ(address(i), bindings_.address_of(i));
  EXPECT_EQ(5U, bindings_.next_of(kLarge));
}

TEST_F(PlanBindingsTest, WhatIsKnownIsNotUnboundByOperationsThatNameAnother) {
  bindings_.settle(std::vector<PlanMatching::Match>{{0xA000, kFirst}});
  for (int iteration = 0; iteration < 3; ++iteration) {
    bindings_.named(kForward1, std::vector<NamedAllocation>{{0xE000, kLarge}, {0x1000, kLarge}});
  }
  EXPECT_EQ(0xA000U, bindings_.address_of(kFirst));
}

TEST_F(PlanBindingsTest, WhatIsFreedIsUnknownUntilItsSuccessorIsNamed) {
  bindings_.allocated(0x1000, kLarge);
  bindings_.named(kForward1, std::vector<NamedAllocation>{{0xA000, kLarge}, {0x1000, kLarge}});
  bindings_.freed(0xA000);
  EXPECT_EQ(3U, bindings_.unknown());
  EXPECT_EQ(kNone, bindings_.tensor_at(0xA000));
  bindings_.named(kForward1, std::vector<NamedAllocation>{{0xD000, kLarge}, {0x1000, kLarge}});
  EXPECT_EQ(0xD000U, bindings_.address_of(kFirst));
}

TEST_F(PlanBindingsTest, FoundInTheMiddleTheOrdinalsAreThePlans) {
  bindings_.allocated(0x7000, kLarge);
  bindings_.found_at(kForward2);
  EXPECT_EQ(static_cast<std::uint32_t>(kGradient), bindings_.next_of(kLarge));
}

TEST(PlanBindings, TensorsThatNoGateSeesAreNotWaitedFor) {
  PlanStory story(kChunk);
  const int small = story.persistent(100);
  const int large = story.persistent(kLarge);
  story.operation(11, {small, large});
  const PlanIndex index(story.plan());
  PlanBindings bindings(index, 2048);
  EXPECT_EQ(1U, bindings.persistent());
  bindings.named(0, std::vector<NamedAllocation>{{0xA000, kLarge}});
  EXPECT_EQ(0U, bindings.unknown());
}

}  // namespace
}  // namespace tferry::runtime
