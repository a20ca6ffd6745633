#include "runtime/block.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tferry::runtime {
namespace {

std::vector<const Block*> from_oldest(const UseOrder& order) {
  std::vector<const Block*> all;
  for (const Block* block = order.oldest(); block != nullptr; block = block->newer) all.push_back(block);
  return all;
}

TEST(UseOrder, TheLastTouchedComesLast) {
  UseOrder order;
  Block a, b, c;
  for (Block* block : {&a, &b, &c, &a}) order.touch(*block);
  EXPECT_EQ((std::vector<const Block*>{&b, &c, &a}), from_oldest(order));
  order.touch(a);
  EXPECT_EQ((std::vector<const Block*>{&b, &c, &a}), from_oldest(order));
}

TEST(UseOrder, RemovingWhatIsNotInItDoesNothing) {
  UseOrder order;
  Block a, b;
  order.touch(a);
  order.remove(b);
  order.remove(a);
  order.remove(a);
  EXPECT_EQ(nullptr, order.oldest());
  order.touch(b);
  EXPECT_EQ((std::vector<const Block*>{&b}), from_oldest(order));
}

RC_GTEST_PROP(UseOrderProperty, KeepsTheOrderOfAList, (const std::vector<std::uint8_t>& choices)) {
  UseOrder order;
  std::vector<Block> blocks(6);
  std::vector<const Block*> expected;
  for (const std::uint8_t choice : choices) {
    Block& block = blocks[choice / 4 % blocks.size()];
    std::erase(expected, &block);
    if (choice % 4 == 0) {
      order.remove(block);
    } else {
      order.touch(block);
      expected.push_back(&block);
    }
    RC_ASSERT(from_oldest(order) == expected);
    RC_ASSERT(block.in_order == (choice % 4 != 0));
  }
  std::vector<const Block*> backwards;
  for (const Block* block = expected.empty() ? nullptr : expected.back(); block != nullptr;
       block = block->older)
    backwards.push_back(block);
  std::reverse(backwards.begin(), backwards.end());
  RC_ASSERT(backwards == expected);
}

}  // namespace
}  // namespace tferry::runtime
