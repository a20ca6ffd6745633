#include "runtime/coordination/slot_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tferry::runtime {
namespace {

using trace::SlotOrder;
using trace::SlotSegment;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLease = 20 * kMs;
constexpr auto kIn = LinkDirection::kIn;

/// Ranks on one link, at a time that the test makes up.
class Ranks {
 public:
  explicit Ranks(int ranks, SlotOrder order = SlotOrder::kFixed)
      : segment_(SlotSegment::in_memory(order, kLease)), table(*segment_) {
    for (int rank = 0; rank < ranks; ++rank) join(rank);
  }
  void join(int rank) {
    self.push_back(
        table.join(trace::slot_link_number("card"), static_cast<std::uint32_t>(rank), now).value());
  }
  /// Time passes, and those ranks look meanwhile.
  void pass(std::int64_t time, std::vector<std::size_t> looking) {
    for (const std::int64_t end = now + time; now < end;) {
      now = std::min(now + kLease / 4, end);
      for (const std::size_t rank : looking) table.keep_alive(self[rank], now);
    }
  }
  void ask(std::size_t rank, std::int64_t slack = 0, std::uint64_t round = 0) {
    table.ask(self[rank], kIn, {now + slack, round}, now);
  }
  bool gets(std::size_t rank) {
    table.arbitrate(0, kIn, now);
    const auto grant = table.granted(self[rank], kIn);
    if (grant) grants[rank] = *grant;
    return grant.has_value();
  }
  bool ends(std::size_t rank) { return table.give_back(self[rank], kIn, grants[rank], now); }

 private:
  std::unique_ptr<SlotSegment> segment_;

 public:
  SlotTable table;
  std::vector<SlotTable::Identity> self;
  SlotTable::Grant grants[8] = {};
  std::int64_t now = 1000 * kMs;
};

TEST(SlotTable, OneRankAtATimeMovesInADirection) {
  Ranks ranks(2);
  ranks.ask(0);
  ranks.ask(1);
  EXPECT_TRUE(ranks.gets(0));
  EXPECT_FALSE(ranks.gets(1));
  EXPECT_TRUE(ranks.ends(0));
  EXPECT_TRUE(ranks.gets(1));
}

TEST(SlotTable, DirectionsAndLinksDoNotWaitForEachOther) {
  Ranks ranks(1);
  const auto other = ranks.table.join(trace::slot_link_number("other card"), 1, ranks.now).value();
  ranks.ask(0);
  ASSERT_TRUE(ranks.gets(0));
  ranks.table.ask(ranks.self[0], LinkDirection::kOut, {}, ranks.now);
  ranks.table.arbitrate(ranks.self[0].link, LinkDirection::kOut, ranks.now);
  EXPECT_TRUE(ranks.table.granted(ranks.self[0], LinkDirection::kOut));
  ranks.table.ask(other, kIn, {}, ranks.now);
  ranks.table.arbitrate(other.link, kIn, ranks.now);
  EXPECT_TRUE(ranks.table.granted(other, kIn));
}

TEST(SlotTable, GivingBackHandsTheSlotToTheLowestRankThatWaits) {
  Ranks ranks(3);
  ranks.ask(1);
  ASSERT_TRUE(ranks.gets(1));
  ranks.ask(2);
  ranks.ask(0);
  EXPECT_TRUE(ranks.ends(1));
  EXPECT_EQ(0U, ranks.table.owner(0, kIn));
}

TEST(SlotTable, ByDeadlineAnUrgentTransferPassesALazyOne) {
  Ranks ranks(2, SlotOrder::kDeadline);
  ranks.ask(0, 50 * kMs);
  ranks.ask(1, 2 * kMs);
  EXPECT_TRUE(ranks.gets(1));
}

TEST(SlotTable, RotatingOrderMovesOnWithTheIterations) {
  Ranks ranks(2, SlotOrder::kRotating);
  std::vector<int> first;
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (const auto& self : ranks.self) ranks.table.set_round(self, round);
    ranks.ask(0);
    ranks.ask(1);
    first.push_back(ranks.gets(0) ? 0 : 1);
    ASSERT_TRUE(first.back() == 0 || ranks.gets(1));
    ranks.ends(static_cast<std::size_t>(first.back()));
    const auto second = static_cast<std::size_t>(1 - first.back());
    ASSERT_TRUE(ranks.gets(second));
    ranks.ends(second);
  }
  EXPECT_EQ((std::vector<int>{0, 1, 0, 1}), first);
}

// Whoever is behind catches up, whatever its rank; in one iteration the lowest rank is first.
TEST(SlotTable, WhatBelongsToTheEarliestIterationIsFirst) {
  Ranks ranks(3, SlotOrder::kBehind);
  ranks.ask(0, 0, 7);
  ranks.ask(1, 0, 6);
  ranks.ask(2, 0, 6);
  for (const std::size_t next : {1U, 2U, 0U}) {
    ASSERT_TRUE(ranks.gets(next)) << next;
    ranks.ends(next);
  }
}

TEST(SlotTable, WhoCountsItsFirstIterationLearnsWhereTheOthersAre) {
  Ranks ranks(3, SlotOrder::kBehind);
  ranks.table.set_round(ranks.self[0], 5);
  ranks.table.set_round(ranks.self[2], 4);
  EXPECT_EQ(5U, ranks.table.latest_round(ranks.self[1], ranks.now));
  EXPECT_EQ(4U, ranks.table.latest_round(ranks.self[0], ranks.now)) << "its own does not count";
  ranks.pass(kLease + kMs, {1, 2});
  EXPECT_EQ(4U, ranks.table.latest_round(ranks.self[1], ranks.now)) << "who no longer looks does not count";
}

TEST(SlotTable, AKilledOwnerHoldsTheOthersUpForOneLease) {
  Ranks ranks(2);
  ranks.ask(0);
  ASSERT_TRUE(ranks.gets(0));
  ranks.ask(1);
  ranks.pass(kLease - kMs, {1});
  EXPECT_FALSE(ranks.gets(1));
  ranks.pass(2 * kMs, {1});
  EXPECT_TRUE(ranks.gets(1));
  EXPECT_FALSE(ranks.ends(0)) << "if it was only stopped, it learns that the slot was taken away";
  EXPECT_EQ(1U, ranks.table.owner(0, kIn));
}

TEST(SlotTable, ARequestOfARankThatNoLongerLooksIsPassedOver) {
  Ranks ranks(2);
  ranks.ask(0);
  ranks.pass(kLease + kMs, {1});
  ranks.ask(1);
  EXPECT_TRUE(ranks.gets(1));
}

TEST(SlotTable, NobodyWaitsForEver) {
  for (const SlotOrder order : {SlotOrder::kFixed, SlotOrder::kDeadline, SlotOrder::kBehind}) {
    Ranks ranks(2, order);
    ranks.ask(1, 1'000'000 * kMs, 1'000);
    const std::int64_t begin = ranks.now;
    bool served = false;
    while (!served && ranks.now - begin < 2 * SlotTable::kPatienceLeases * kLease) {
      ranks.ask(0);
      served = ranks.gets(1);
      if (served) break;
      ASSERT_TRUE(ranks.gets(0));
      ranks.pass(kMs, {0, 1});
      ranks.ask(0);
      ranks.ends(0);
      served = ranks.table.granted(ranks.self[1], kIn).has_value();
    }
    EXPECT_TRUE(served);
    EXPECT_LT(SlotTable::kPatienceLeases * kLease, ranks.now - begin) << "the order is kept before";
    EXPECT_LE(ranks.now - begin, SlotTable::kPatienceLeases * kLease + 3 * kMs);
  }
}

TEST(SlotTable, WhoLeavesGivesUpItsSlotAndIsNotCounted) {
  Ranks ranks(2);
  EXPECT_EQ(2U, ranks.table.members_on(0, ranks.now));
  ranks.ask(0);
  ASSERT_TRUE(ranks.gets(0));
  ranks.ask(1);
  ranks.table.leave(ranks.self[0]);
  EXPECT_TRUE(ranks.gets(1));
  EXPECT_EQ(1U, ranks.table.members_on(0, ranks.now));
}

TEST(SlotTable, AnEntryOfOneThatIsGoneIsUsedAgainAndItLearnsOfItWhenItWakes) {
  Ranks ranks(static_cast<int>(trace::kSlotMembers));
  EXPECT_FALSE(ranks.table.join(trace::slot_link_number("card"), 64, ranks.now)) << "all are in use";
  ranks.now += (SlotTable::kGoneLeases + 1) * kLease;
  for (std::size_t rank = 1; rank < ranks.self.size(); ++rank)
    ASSERT_TRUE(ranks.table.keep_alive(ranks.self[rank], ranks.now));
  ranks.join(64);
  EXPECT_EQ(ranks.self[0].member, ranks.self.back().member);
  EXPECT_FALSE(ranks.table.keep_alive(ranks.self[0], ranks.now));
  ranks.table.leave(ranks.self[0]);
  EXPECT_TRUE(ranks.table.keep_alive(ranks.self.back(), ranks.now)) << "whoever left was another";
}

TEST(SlotTable, DamageInTheSegmentGrantsNothingAndCrashesNothing) {
  const auto segment = SlotSegment::in_memory(SlotOrder::kRotating, kLease);
  SlotTable table(*segment);
  const auto self = table.join(1, 0, 5000 * kMs).value();
  auto* words = reinterpret_cast<unsigned char*>(segment->layout().link);
  const std::size_t size = sizeof(trace::SlotSegmentLayout) - offsetof(trace::SlotSegmentLayout, link);
  for (std::size_t i = 0; i < size; ++i) words[i] = static_cast<unsigned char>(i * 151 + 7);
  EXPECT_FALSE(table.keep_alive(self, 5000 * kMs)) << "and so the rank goes on alone";
  table.ask(self, kIn, {}, 5000 * kMs);
  table.arbitrate(self.link, kIn, 5000 * kMs);
  table.granted(self, kIn);
  table.others_wait(self, kIn, 5000 * kMs);
  table.leave(self);
}

class SlotSegmentFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tferry-slots-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(pattern.data()));
    directory_ = pattern;
    path_ = directory_ / "slots";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_, path_;
  std::string error_;
};

TEST_F(SlotSegmentFile, IsTheOwnersAloneAndSeenByAll) {
  const auto made = SlotSegment::create(path_, SlotOrder::kDeadline, kLease, error_);
  ASSERT_TRUE(made) << error_;
  struct stat status{};
  ASSERT_EQ(0, stat(path_.c_str(), &status));
  EXPECT_EQ(0600U, status.st_mode & 0777);
  const auto opened = SlotSegment::open(path_, error_);
  ASSERT_TRUE(opened) << error_;
  EXPECT_EQ(SlotOrder::kDeadline, opened->order());
  EXPECT_EQ(kLease, opened->lease_ns());
  SlotTable(*made).join(7, 0, 1);
  EXPECT_EQ(1U, SlotTable(*opened).members_on(0, 1));
  EXPECT_FALSE(SlotSegment::create(path_, SlotOrder::kFixed, kLease, error_)) << "nothing is overwritten";
}

TEST_F(SlotSegmentFile, WhatIsNoneIsRefused) {
  EXPECT_FALSE(SlotSegment::open(path_, error_));
  EXPECT_NE(std::string::npos, error_.find("No such file")) << error_;
  std::ofstream(path_) << "short";
  EXPECT_FALSE(SlotSegment::open(path_, error_));
  std::filesystem::resize_file(path_, sizeof(trace::SlotSegmentLayout));
  EXPECT_FALSE(SlotSegment::open(path_, error_)) << "zeros";
  std::filesystem::remove(path_);
  ASSERT_TRUE(SlotSegment::create(path_, SlotOrder::kFixed, kLease, error_));
  std::filesystem::create_symlink(path_, directory_ / "link");
  EXPECT_FALSE(SlotSegment::open(directory_ / "link", error_)) << "links are not followed";
}

}  // namespace
}  // namespace tferry::runtime
