#include "runtime/plan_matching.hpp"

#include "tests/runtime/plan_story.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tferry::runtime {
namespace {

using runtime_test::PlanStory;

constexpr std::uint64_t kChunk = 4096;
constexpr auto kSize = static_cast<std::int64_t>(2 * kChunk);
using Found = std::map<std::uint32_t, std::uint64_t>;

Found by_tensor(const std::vector<PlanMatching::Match>& matches) {
  Found found;
  for (const auto& match : matches) found[match.tensor] = match.address;
  return found;
}

std::vector<NamedAllocation> names(std::initializer_list<std::uint64_t> addresses) {
  std::vector<NamedAllocation> all;
  for (const std::uint64_t address : addresses) all.push_back({address, kSize});
  return all;
}

/// Layers of one weight each, and an optimizer that names all weights and their moments in one launch.
class PlanMatchingTest : public ::testing::Test {
 protected:
  enum : int { kWeight0, kMoment0, kWeight1, kMoment1 };

  static PlanIndex make() {
    PlanStory story(kChunk);
    for (int i = 0; i < 4; ++i) story.persistent(kSize);
    story.operation(11, {kWeight0});
    story.operation(12, {kWeight1});
    story.operation(13, {kWeight0, kWeight1, kMoment0, kMoment1});
    return PlanIndex(story.plan());
  }

  const PlanIndex index_ = make();
  PlanMatching matching_{index_, 0};
};

TEST_F(PlanMatchingTest, ManyNamedAtOnceAreToldApartByWhereElseTheyAreNamed) {
  matching_.named(0, names({0xA0}));
  matching_.named(1, names({0xB0}));
  matching_.named(2, names({0xB0, 0xA0, 0xC0, 0xD0}));
  EXPECT_EQ((Found{{kWeight0, 0xA0}, {kWeight1, 0xB0}, {kMoment0, 0xC0}, {kMoment1, 0xD0}}),
            by_tensor(matching_.iteration_ended()));
}

TEST_F(PlanMatchingTest, AStaleAddressAmongTheNamesDoesNotMatter) {
  matching_.named(0, names({0xEE, 0xA0}));
  matching_.named(1, names({0xA0, 0xB0}));
  matching_.named(2, names({0xA0, 0xB0, 0xC0, 0xD0}));
  const Found found = by_tensor(matching_.iteration_ended());
  EXPECT_EQ(0xA0U, found.at(kWeight0));
  EXPECT_EQ(0xB0U, found.at(kWeight1));
}

TEST_F(PlanMatchingTest, WhatTheIterationMadeOrFreedIsNone) {
  matching_.allocated(0xA0);
  matching_.named(0, names({0xA0}));
  matching_.named(1, names({0xB0}));
  matching_.freed(0xB0);
  EXPECT_TRUE(matching_.iteration_ended().empty());
}

TEST_F(PlanMatchingTest, EachIterationTellsByItself) {
  matching_.named(0, names({0xB0}));
  matching_.iteration_ended();
  matching_.named(0, names({0xA0}));
  matching_.named(2, names({0xA0}));
  EXPECT_EQ((Found{{kWeight0, 0xA0}}), by_tensor(matching_.iteration_ended()));
}

/// Programs with many tensors of one size that are named at random, and stale names beside: whatever is told
/// is right wherever another tensor is not named at the very same positions.
RC_GTEST_PROP(PlanMatchingProperty, TellsTensorsThatAreNamedAtDifferentPositions, ()) {
  const int tensors = *rc::gen::inRange(2, 12);
  const int operations = *rc::gen::inRange(4, 40);
  PlanStory story(kChunk);
  for (int i = 0; i < tensors; ++i) story.persistent(kSize);
  std::vector<std::vector<int>> named(static_cast<std::size_t>(operations));
  for (int i = 0; i < operations; ++i) {
    auto& list = named[static_cast<std::size_t>(i)];
    for (int tensor = 0; tensor < tensors; ++tensor) {
      if (*rc::gen::inRange(0, 3) == 0) list.push_back(tensor);
    }
    story.operation(static_cast<std::uint64_t>(i + 1), list);
  }
  const PlanIndex index(story.plan());
  PlanMatching matching(index, 0);
  for (std::uint32_t position = 0; position < index.size(); ++position) {
    std::vector<NamedAllocation> all;
    for (const int tensor : named[position]) all.push_back({100 + static_cast<std::uint64_t>(tensor), kSize});
    if (*rc::gen::inRange(0, 4) == 0) all.push_back({999, kSize});
    matching.named(position, all);
  }
  const auto same_positions = [&](int a, int b) {
    return std::all_of(named.begin(), named.end(), [&](const std::vector<int>& list) {
      return std::count(list.begin(), list.end(), a) == std::count(list.begin(), list.end(), b);
    });
  };
  const Found found = by_tensor(matching.iteration_ended());
  for (int tensor = 0; tensor < tensors; ++tensor) {
    const bool ever = std::any_of(named.begin(), named.end(), [&](const auto& list) {
      return std::count(list.begin(), list.end(), tensor) > 0;
    });
    const auto it = found.find(static_cast<std::uint32_t>(tensor));
    RC_ASSERT((it != found.end()) == ever);
    if (!ever) continue;
    RC_ASSERT(it->second != 999U);
    RC_ASSERT(same_positions(tensor, static_cast<int>(it->second) - 100));
  }
}

}  // namespace
}  // namespace tferry::runtime
