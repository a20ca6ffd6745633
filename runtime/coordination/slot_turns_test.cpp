#include "runtime/coordination/slot_turns.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tferry::runtime {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLease = 20 * kMs;

/// A gate of which the test plays the GPU's part: the words are written by hand.
struct Rank {
  Rank(SlotTable& slots, std::uint32_t rank) : table(slots) { self = table.join(1, rank, 0).value(); }
  void ready(std::uint32_t number) { words.request = number; }
  bool passes(std::uint32_t number) const {
    return static_cast<std::int32_t>(words.granted.load() - number) >= 0;
  }
  void ended(std::uint32_t number) { words.done = number; }
  void look(std::int64_t now) {
    table.keep_alive(self, now);
    turns.look(self, now);
  }

  SlotTable& table;
  cuda::Driver none{};
  SlotGate::Words words{};
  SlotGate gate{none, words, 0};
  SlotTurns turns{gate, table, LinkDirection::kIn};
  SlotTable::Identity self;
};

class SlotTurnsTest : public ::testing::Test {
 protected:
  std::unique_ptr<trace::SlotSegment> segment_ =
      trace::SlotSegment::in_memory(trace::SlotOrder::kFixed, kLease);
  SlotTable table_{*segment_};
  Rank a_{table_, 0}, b_{table_, 1};
};

TEST_F(SlotTurnsTest, NothingPassesBeforeItsTurn) {
  EXPECT_FALSE(a_.passes(1));
  a_.ready(1);
  b_.ready(1);
  a_.look(kMs);
  b_.look(kMs);
  EXPECT_TRUE(a_.passes(1));
  EXPECT_FALSE(b_.passes(1));
  a_.ended(1);
  a_.look(2 * kMs);
  b_.look(2 * kMs);
  EXPECT_TRUE(b_.passes(1));
  EXPECT_FALSE(a_.passes(2)) << "b waited, so nothing goes ahead";
  EXPECT_EQ(1, a_.turns.figures().used);
  EXPECT_EQ(kMs, b_.turns.figures().wait_ns);
}

TEST_F(SlotTurnsTest, WhileNobodyElseWaitsTheNextTransferGoesAhead) {
  a_.ready(1);
  a_.look(kMs);
  a_.look(kMs);
  EXPECT_TRUE(a_.passes(2)) << "it will not wait for an answer";
  a_.ended(1);
  a_.look(2 * kMs);
  EXPECT_TRUE(a_.passes(2));
  EXPECT_FALSE(a_.passes(3));
  b_.ready(1);
  b_.look(3 * kMs);
  EXPECT_TRUE(b_.passes(1)) << "the slot is free as long as the other's next transfer is not ready";
  b_.ended(1);
  b_.look(4 * kMs);
  a_.ready(2);
  a_.look(4 * kMs);
  EXPECT_EQ(1, a_.turns.figures().ahead);
  b_.ready(2);
  b_.look(5 * kMs);
  b_.ready(3);
  b_.ended(2);
  b_.look(5 * kMs);
  EXPECT_FALSE(b_.passes(3)) << "it went beside a's, so it does not go ahead once more";
}

TEST_F(SlotTurnsTest, GoingAheadEndsWhenSomebodyWaits) {
  a_.ready(1);
  a_.look(kMs);
  a_.ended(1);
  a_.look(kMs);
  b_.ready(1);
  b_.look(kMs);
  b_.ended(1);
  b_.look(kMs);
  ASSERT_TRUE(a_.passes(2));
  ASSERT_TRUE(b_.passes(2));
  a_.ready(2);
  a_.look(kMs);
  b_.ready(2);
  b_.look(kMs);  // beside a's: both were let through
  b_.ended(2);
  b_.look(kMs);
  b_.ready(3);
  b_.look(kMs);
  EXPECT_FALSE(b_.passes(3)) << "a has the slot";
  a_.ended(2);
  a_.look(kMs);
  b_.look(kMs);
  EXPECT_TRUE(b_.passes(3));
  EXPECT_FALSE(a_.passes(3));
}

TEST_F(SlotTurnsTest, AnOverlongTurnIsCountedAndTheOthersGoOn) {
  a_.ready(1);
  a_.look(kMs);
  b_.ready(1);
  b_.look(2 * kMs);
  b_.look(kLease);
  EXPECT_FALSE(b_.passes(1));
  b_.look(kLease + 2 * kMs);
  EXPECT_TRUE(b_.passes(1));
  a_.ended(1);
  a_.look(kLease + 3 * kMs);
  EXPECT_EQ(1, a_.turns.figures().expired);
  EXPECT_EQ(0, a_.turns.figures().used);
}

TEST_F(SlotTurnsTest, ATransferThatIsNeverGrantedIsNoticed) {
  a_.ready(1);
  a_.look(kMs);
  ASSERT_TRUE(a_.passes(1));
  b_.ready(1);
  b_.look(kMs);
  // The slot's word is renewed by somebody who does not keep the rules.
  for (std::int64_t now = kMs; now < 102 * kLease; now += kLease / 4) {
    segment_->layout().link[0].slot[0] = std::uint64_t{1} << 56 | static_cast<std::uint64_t>(now / 1000);
    b_.look(now);
  }
  EXPECT_TRUE(b_.turns.stuck());
  b_.turns.go_alone(b_.self, 102 * kLease);
  EXPECT_TRUE(b_.passes(1));
  EXPECT_TRUE(b_.passes(1000));
}

TEST_F(SlotTurnsTest, NumbersGoAroundTheirEnd) {
  // Gates count to 2^32 and on: comparing is cyclic.
  std::uint32_t number = 1;
  for (int i = 0; i < 3; ++i) {
    a_.ready(number);
    a_.look(kMs);
    ASSERT_TRUE(a_.passes(number));
    a_.ended(number);
    a_.look(kMs);
    ++number;
  }
  EXPECT_EQ(3, a_.turns.figures().used);
  a_.turns.go_alone(a_.self, kMs);
  EXPECT_TRUE(a_.passes(0x30000000));
  EXPECT_FALSE(a_.passes(0x50000000)) << "what is far beyond counts as before";
}

}  // namespace
}  // namespace tferry::runtime
