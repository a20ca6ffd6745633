#include "runtime/small_arena.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

namespace tferry::runtime {
namespace {

constexpr std::size_t kSlab = 65536;
constexpr CUdeviceptr kFirstSlab = 0x700000000000;

/// Streams whose operations end when the test says so.
struct World {
  std::map<StreamIndex, Sequence> queued;
  std::map<StreamIndex, Sequence> ended;
  CUdeviceptr next_slab = kFirstSlab;
  bool out_of_memory = false;
  bool capturing = false;
  int waits = 0;

  SmallArena::Source source() {
    return {[this](std::size_t bytes) {
              if (out_of_memory) return CUdeviceptr{0};
              const CUdeviceptr slab = next_slab;
              next_slab += 2 * bytes;
              return slab;
            },
            [this](const Moments& after) { return passed(after); },
            [this](const Moments& after) {
              if (capturing) return false;
              for (const Moment& moment : after)
                ended[moment.stream] = std::max(ended[moment.stream], moment.sequence);
              ++waits;
              return true;
            }};
  }
  bool passed(const Moments& after) {
    return std::all_of(after.begin(), after.end(), [&](Moment m) { return ended[m.stream] >= m.sequence; });
  }
};

Moments at(StreamIndex stream, Sequence sequence) {
  Moments moments;
  moments.add({stream, sequence});
  return moments;
}

TEST(SmallArena, SizesAreRoundedToClasses) {
  EXPECT_EQ(512U, SmallArena::class_size(0));
  EXPECT_EQ(512U, SmallArena::class_size(1));
  EXPECT_EQ(512U, SmallArena::class_size(512));
  EXPECT_EQ(1024U, SmallArena::class_size(513));
  EXPECT_EQ(8192U, SmallArena::class_size(8192));
  EXPECT_EQ(9216U, SmallArena::class_size(8193));
}

// As the driver's own cuMemFree would have waited: a program far ahead of the GPU must not take slab after
// slab.
TEST(SmallArena, WhatIsFreedAndStillInUseFillsOneSlabAtMostForEachSize) {
  World world;
  SmallArena arena(world.source(), kSlab);
  for (Sequence i = 1; i <= 1000; ++i) {
    const auto piece = arena.allocate(kSlab / 8, i, false);
    ASSERT_TRUE(piece);
    arena.free(piece->address, at(0, i));
  }
  EXPECT_LE(world.next_slab, kFirstSlab + 4 * kSlab) << "two slabs";
  EXPECT_LT(900, world.waits);
  world.capturing = true;
  EXPECT_TRUE(arena.allocate(kSlab / 8, 1, false)) << "nobody waits in a capture";
}

TEST(SmallArena, FindsAllocationsByInteriorAddresses) {
  World world;
  SmallArena arena(world.source(), kSlab);
  const auto first = arena.allocate(100, 7, true);
  const auto second = arena.allocate(600, 8, false);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(kFirstSlab, first->address);
  EXPECT_EQ(kFirstSlab + 512, second->address);
  EXPECT_EQ(8U, arena.find(second->address + 1023)->buffer_id);
  EXPECT_EQ(7U, arena.find(first->address + 511)->buffer_id);
  EXPECT_EQ(nullptr, arena.find(second->address + 1024));
  EXPECT_EQ(nullptr, arena.find(first->address - 1));
}

TEST(SmallArena, OnlyTheBeginningOfALiveAllocationIsFreed) {
  World world;
  SmallArena arena(world.source(), kSlab);
  const auto only = arena.allocate(1000, 1, false);
  EXPECT_FALSE(arena.free(only->address + 8, {}));
  EXPECT_TRUE(arena.free(only->address, {}));
  EXPECT_FALSE(arena.free(only->address, {}));
  EXPECT_EQ(nullptr, arena.find(only->address));
}

TEST(SmallArena, FreedMemoryIsUsedAgainWhenItsMomentsHavePassed) {
  World world;
  SmallArena arena(world.source(), kSlab);
  const CUdeviceptr freed = arena.allocate(512, 1, false)->address;
  arena.free(freed, at(3, 10));
  EXPECT_NE(freed, arena.allocate(512, 2, false)->address);
  world.ended[3] = 10;
  EXPECT_EQ(freed, arena.allocate(500, 3, false)->address);
}

TEST(SmallArena, OutOfMemoryChangesNothing) {
  World world;
  world.out_of_memory = true;
  SmallArena arena(world.source(), kSlab);
  EXPECT_FALSE(arena.allocate(512, 1, false));
  world.out_of_memory = false;
  EXPECT_EQ(kFirstSlab, arena.allocate(512, 2, false)->address);
}

RC_GTEST_PROP(SmallArenaProperty, LiveAllocationsNeverOverlapAndFreedMemoryWaitsForItsStreams,
              (const std::vector<std::uint32_t>& choices)) {
  World world;
  SmallArena arena(world.source(), kSlab);
  std::map<CUdeviceptr, std::size_t> live;
  struct Freed {
    CUdeviceptr begin;
    std::size_t size;
    Moments after;
  };
  std::vector<Freed> freed;
  for (const std::uint32_t choice : choices) {
    const std::uint32_t what = choice % 8;
    const std::uint32_t detail = choice / 8;
    const StreamIndex stream = detail % 3;
    if (what < 4) {
      const auto made = arena.allocate(1 + detail % (kSlab / 2), choice, false);
      RC_ASSERT(made.has_value());
      const CUdeviceptr end = made->address + made->size;
      const auto after = live.lower_bound(made->address);
      const bool clear =
          (after == live.end() || after->first >= end) &&
          (after == live.begin() || std::prev(after)->first + std::prev(after)->second <= made->address);
      RC_ASSERT(clear);
      for (const Freed& old : freed) {
        const bool overlaps = old.begin < end && made->address < old.begin + old.size;
        const bool passed = world.passed(old.after);
        RC_ASSERT(!overlaps || passed);
      }
      std::erase_if(freed, [&](const Freed& old) { return old.begin == made->address; });
      live.emplace(made->address, made->size);
    } else if (what < 6 && !live.empty()) {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(detail % live.size()));
      Moments after;
      for (StreamIndex each = 0; each <= stream; ++each) after.add({each, world.queued[each]});
      RC_ASSERT(arena.free(victim->first, after).has_value());
      freed.push_back({victim->first, victim->second, after});
      live.erase(victim);
    } else if (what == 6) {
      ++world.queued[stream];
    } else if (world.ended[stream] < world.queued[stream]) {
      ++world.ended[stream];
    }
  }
}

}  // namespace
}  // namespace tferry::runtime
