#include "runtime/address_space.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <iterator>
#include <map>

namespace tferry::runtime {
namespace {

constexpr CUdeviceptr kBegin = 0x700000000000;

TEST(AddressRange, HandsOutTheLowestThatFits) {
  AddressRange range(kBegin, 100);
  EXPECT_EQ(kBegin, range.take(10));
  EXPECT_EQ(kBegin + 10, range.take(20));
  EXPECT_EQ(kBegin + 30, range.take(5));
  range.give_back(kBegin + 10, 20);
  EXPECT_EQ(kBegin + 35, range.take(21));
  EXPECT_EQ(kBegin + 10, range.take(20));
}

TEST(AddressRange, IsExhaustedAtItsEndAndNotBefore) {
  AddressRange range(kBegin, 100);
  EXPECT_EQ(0U, range.take(101));
  EXPECT_EQ(kBegin, range.take(100));
  EXPECT_EQ(0U, range.take(1));
  EXPECT_EQ(kBegin + 100, range.high_water());
}

TEST(AddressRange, ContainsItsBytesAndNoOthers) {
  const AddressRange range(kBegin, 100);
  EXPECT_TRUE(range.contains(kBegin));
  EXPECT_TRUE(range.contains(kBegin + 99));
  EXPECT_FALSE(range.contains(kBegin + 100));
  EXPECT_FALSE(range.contains(kBegin - 1));
  EXPECT_FALSE(AddressRange().contains(0));
}

RC_GTEST_PROP(AddressRangeProperty, WhatIsTakenNeverOverlapsAndAllComesBack,
              (const std::vector<std::uint16_t>& choices)) {
  constexpr std::size_t kSize = 1 << 12;
  AddressRange range(kBegin, kSize);
  std::map<CUdeviceptr, std::size_t> taken;
  for (const std::uint16_t choice : choices) {
    if (choice % 3 != 0 || taken.empty()) {
      const std::size_t size = 1 + choice % 300;
      const CUdeviceptr address = range.take(size);
      if (address == 0) continue;
      const auto after = taken.lower_bound(address);
      const bool inside = address >= kBegin && address + size <= kBegin + kSize;
      const bool clear_above = after == taken.end() || after->first >= address + size;
      const bool clear_below =
          after == taken.begin() || std::prev(after)->first + std::prev(after)->second <= address;
      RC_ASSERT(inside);
      RC_ASSERT(clear_above);
      RC_ASSERT(clear_below);
      taken.emplace(address, size);
    } else {
      const auto victim = std::next(taken.begin(), static_cast<std::ptrdiff_t>(choice % taken.size()));
      range.give_back(victim->first, victim->second);
      taken.erase(victim);
    }
  }
  for (const auto& [address, size] : taken) range.give_back(address, size);
  RC_ASSERT(range.take(kSize) == kBegin);
}

}  // namespace
}  // namespace tferry::runtime
