#include "samples/layers/affine.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tferry::samples {
namespace {

Sums by_adding(const std::vector<std::uint64_t>& buffer) {
  Sums sums;
  for (std::uint64_t i = 0; i < buffer.size(); ++i) {
    sums.plain += buffer[i];
    sums.weighted += (i + 1) * buffer[i];
  }
  return sums;
}

TEST(Affine, KeepsItsFormUnderScalingAndAdding) {
  const Affine a{3, 10};
  const Affine b{5, 1};
  for (std::uint64_t j = 0; j < 10; ++j) {
    EXPECT_EQ((7 * a + b + 2).at(j), 7 * a.at(j) + b.at(j) + 2);
    EXPECT_EQ(from(a, 4).at(j), a.at(4 + j));
  }
}

TEST(Affine, ClosedFormOfTheSumsIsWhatAddingGives) {
  const std::vector<Affine> runs{
      {0, 0}, {1, 0}, {0, 7}, {0xffff'ffff'ffff'fff1, 0x8000'0000'0000'0003}, {12345, 6}};
  for (const Affine& run : runs) {
    for (const std::uint64_t first : {0U, 1U, 17U}) {
      for (const std::uint64_t count : {0U, 1U, 2U, 3U, 1000U, 4096U}) {
        std::vector<std::uint64_t> buffer(first, 0);
        for (std::uint64_t j = 0; j < count; ++j) buffer.push_back(run.at(j));
        EXPECT_EQ(sums_of(run, first, count), by_adding(buffer)) << first << " " << count;
      }
    }
  }
}

TEST(Affine, SumsOfHalvesAddUpWhereNoLoopCouldReach) {
  const Affine run{0x9e3779b97f4a7c15, 0xdeadbeef};
  const std::uint64_t count = std::uint64_t{1} << 38;
  Sums halves = sums_of(run, 5, count / 2);
  halves += sums_of(from(run, count / 2), 5 + count / 2, count / 2);
  EXPECT_EQ(halves, sums_of(run, 5, count));
}

TEST(Affine, WeightedSumNoticesASwap) {
  EXPECT_EQ(by_adding({1, 2}).plain, by_adding({2, 1}).plain);
  EXPECT_NE(by_adding({1, 2}).weighted, by_adding({2, 1}).weighted);
}

}  // namespace
}  // namespace tferry::samples
