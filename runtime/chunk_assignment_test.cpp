#include "runtime/chunk_assignment.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace tferry::runtime {
namespace {

using Chunks = std::vector<ChunkId>;

TEST(AssignChunks, WhatStaysKeepsItsChunk) {
  const std::vector<HeldPiece> pieces = {{0, 7, true}, {2, 5, true}};
  EXPECT_EQ((Chunks{7, 4, 5}), assign_chunks(3, pieces, Chunks{4, 5, 6, 7}));
}

TEST(AssignChunks, AMappingIsKeptWhereNobodyStays) {
  const std::vector<HeldPiece> pieces = {{0, 5, false}, {1, 5, true}, {2, 6, false}};
  EXPECT_EQ((Chunks{4, 5, 6}), assign_chunks(3, pieces, Chunks{4, 5, 6, 7}));
}

TEST(AssignChunks, OfTwoThatStayInOnePlanChunkTheFirstHasIt) {
  const std::vector<HeldPiece> pieces = {{0, 5, true}, {0, 6, true}};
  EXPECT_EQ((Chunks{5, 4}), assign_chunks(2, pieces, Chunks{4, 5, 6})) << "6 is not free for others";
}

TEST(AssignChunks, ChunksOfOthersAreLeftAlone) {
  const std::vector<HeldPiece> pieces = {{0, 9, false}, {1, kNoChunk, false}};
  EXPECT_EQ((Chunks{4, 5}), assign_chunks(2, pieces, Chunks{4, 5}));
}

TEST(AssignChunks, TooFewGoToTheFirst) { EXPECT_EQ((Chunks{4, kNoChunk}), assign_chunks(2, {}, Chunks{4})); }

RC_GTEST_PROP(AssignChunksProperty, NoChunkServesTwoAndNothingThatStaysIsMovedByAnother, ()) {
  const auto plan_chunks = *rc::gen::inRange<std::uint32_t>(1, 20);
  auto chunks = *rc::gen::unique<std::vector<ChunkId>>(rc::gen::inRange<ChunkId>(0, 40));
  std::sort(chunks.begin(), chunks.end());
  std::vector<HeldPiece> pieces;
  std::set<ChunkId> stay;
  for (const ChunkId chunk : chunks) {
    if (*rc::gen::inRange(0, 2) == 0) continue;
    const bool stays = *rc::gen::arbitrary<bool>();
    pieces.push_back({*rc::gen::inRange<std::uint32_t>(0, plan_chunks), chunk, stays});
    if (stays) stay.insert(chunk);
  }
  const auto assigned = assign_chunks(plan_chunks, pieces, chunks);
  RC_ASSERT(assigned.size() == plan_chunks);
  std::set<ChunkId> seen;
  for (std::uint32_t i = 0; i < plan_chunks; ++i) {
    if (assigned[i] == kNoChunk) continue;
    RC_ASSERT(seen.insert(assigned[i]).second);
    RC_ASSERT(std::binary_search(chunks.begin(), chunks.end(), assigned[i]));
    if (!stay.contains(assigned[i])) continue;
    RC_ASSERT(std::any_of(pieces.begin(), pieces.end(), [&](const HeldPiece& piece) {
      return piece.stays && piece.mapped == assigned[i] && piece.plan_chunk == i;
    }));
  }
}

}  // namespace
}  // namespace tferry::runtime
