#include "runtime/reclaim_memory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tferry::runtime {
namespace {

/// Embedding, `layers` alike forward and back, head and update.
std::vector<std::uint64_t> step(int layers, int operations_per_layer) {
  std::vector<std::uint64_t> signatures{1};
  for (const std::uint64_t pass : {100U, 200U}) {
    for (int layer = 0; layer < layers; ++layer) {
      for (int i = 0; i < operations_per_layer; ++i)
        signatures.push_back(pass + static_cast<std::uint64_t>(i));
    }
    signatures.push_back(pass + 50);
  }
  return signatures;
}

TEST(ReclaimMemory, FindsTheIterationAndNotTheLayer) {
  ReclaimMemory memory;
  const auto signatures = step(12, 20);
  for (int i = 0; i < 4; ++i) {
    for (const std::uint64_t signature : signatures) memory.advance(signature);
  }
  EXPECT_EQ(signatures.size(), memory.period());
}

TEST(ReclaimMemory, TellsUsesApartByTheirPlaceInTheIteration) {
  ReclaimMemory memory;
  const auto signatures = step(12, 20);
  std::vector<std::uint64_t> before, now;
  for (int i = 0; i < 6; ++i) {
    before = now;
    now.clear();
    for (const std::uint64_t signature : signatures) {
      memory.advance(signature);
      now.push_back(memory.use(0));
    }
  }
  EXPECT_EQ(before, now);
  std::map<std::uint64_t, int> count;
  for (const std::uint64_t use : now) ++count[use];
  EXPECT_EQ(signatures.size(), count.size());
}

TEST(ReclaimMemory, WhatWasReclaimedAfterAUseLeavesAfterItFromTheNextIterationOn) {
  ReclaimMemory memory;
  const auto signatures = step(3, 8);
  const auto iterate = [&](std::size_t reclaim) {
    std::size_t leaving = 0;
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      memory.advance(signatures[i]);
      const std::uint64_t use = memory.use(1);
      leaving += memory.pieces_after(use);
      if (i == 7) memory.reclaimed(use, reclaim);
    }
    return leaving;
  };
  for (int i = 0; i < 4; ++i) iterate(0);
  EXPECT_EQ(0U, iterate(3));
  EXPECT_EQ(3U, iterate(0));
  EXPECT_EQ(3U, iterate(5)) << "what is reclaimed counts from the next iteration on";
  EXPECT_EQ(5U, iterate(0));
  EXPECT_EQ(5U, iterate(1)) << "the most of any iteration";
}

TEST(ReclaimMemory, LearnsForAFewIterationsOnly) {
  ReclaimMemory memory;
  const auto signatures = step(3, 8);
  std::size_t leaving = 0;
  for (std::size_t iteration = 0; iteration < 40; ++iteration) {
    leaving = 0;
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      memory.advance(signatures[i]);
      const std::uint64_t use = memory.use(1);
      leaving += memory.pieces_after(use);
      if (i == iteration % signatures.size()) memory.reclaimed(use, 1);
    }
  }
  EXPECT_GE(leaving, 3U);
  EXPECT_LE(leaving, 6U) << "one more by chance in each iteration, and no more than it learnt from";
}

TEST(ReclaimMemory, KnowsNothingBeforeAnythingCameBack) {
  ReclaimMemory memory;
  for (std::uint64_t i = 1; i < 500; ++i) memory.advance(i);
  EXPECT_EQ(ReclaimMemory::kUnknown, memory.use(0));
  memory.reclaimed(memory.use(0), 4);
  EXPECT_EQ(0U, memory.pieces_after(memory.use(0)));
}

TEST(ReclaimMemory, ForgetsAnIterationThatNoLongerComes) {
  ReclaimMemory memory;
  for (int i = 0; i < 4; ++i) {
    for (const std::uint64_t signature : step(12, 20)) memory.advance(signature);
  }
  for (int i = 0; i < 200; ++i) {
    for (const std::uint64_t signature : step(2, 10)) memory.advance(1000 + signature);
  }
  EXPECT_EQ(step(2, 10).size(), memory.period());
}

TEST(ReclaimMemory, FindsItsPlaceAgainAfterOperationsMore) {
  ReclaimMemory memory;
  const auto signatures = step(12, 20);
  const auto uses = [&] {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t signature : signatures) {
      memory.advance(signature);
      all.push_back(memory.use(0));
    }
    return all;
  };
  for (int i = 0; i < 5; ++i) uses();
  const auto before = uses();
  for (std::uint64_t i = 0; i < 40; ++i) memory.advance(9000 + i);
  uses();
  EXPECT_EQ(before, uses());
}

}  // namespace
}  // namespace tferry::runtime
