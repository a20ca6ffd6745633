#include "runtime/moment.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <utility>

namespace tferry::runtime {
namespace {

std::map<StreamIndex, Sequence> contents(const Moments& moments) {
  std::map<StreamIndex, Sequence> all;
  for (const Moment& moment : moments) {
    EXPECT_FALSE(all.contains(moment.stream)) << "stream " << moment.stream << " twice";
    all[moment.stream] = moment.sequence;
  }
  return all;
}

using Map = std::map<StreamIndex, Sequence>;

TEST(Moments, ALaterMomentOfAStreamStandsForTheEarlier) {
  Moments moments;
  moments.add({1, 5});
  moments.add({2, 1});
  moments.add({1, 9});
  moments.add({1, 7});
  EXPECT_EQ((Map{{1, 9}, {2, 1}}), contents(moments));
}

TEST(Moments, AssignReplacesAndClearEmpties) {
  Moments first;
  first.add({1, 1});
  Moments second;
  second.add({2, 2});
  first.assign(second);
  EXPECT_EQ((Map{{2, 2}}), contents(first));
  first.clear();
  EXPECT_TRUE(first.empty());
  EXPECT_FALSE(second.empty());
}

TEST(Moments, WhatHasPassedCanBeTakenOut) {
  Moments moments;
  for (StreamIndex stream = 0; stream < 5; ++stream) moments.add({stream, stream * 10});
  moments.remove_if([](Moment moment) { return moment.sequence <= 20; });
  EXPECT_EQ((Map{{3, 30}, {4, 40}}), contents(moments));
}

RC_GTEST_PROP(MomentsProperty, TheUnionHoldsTheLatestOfEveryStream,
              (const std::vector<std::pair<unsigned char, unsigned char>>& list)) {
  Moments left;
  Moments right;
  Map latest;
  for (const auto& [stream, sequence] : list) {
    const StreamIndex index = stream % 8U;
    (stream % 2 == 0 ? left : right).add({index, sequence});
    latest[index] = std::max<Sequence>(latest[index], sequence);
  }
  left.add(right);
  RC_ASSERT(contents(left) == latest);
}

}  // namespace
}  // namespace tferry::runtime
