#include "runtime/chunk_pool.hpp"

#include "runtime/block.hpp"
#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::runtime {
namespace {

class ChunkPoolTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_TRUE(pool_.open());
    before_ = statistics().memory_used;
  }
  std::size_t used() const { return statistics().memory_used - before_; }

  ChunkPool pool_{driver(), 0, kTestChunk, 16};
  Block owner_;
  std::size_t before_ = 0;  ///< chunks outlive contexts
};

using Ids = std::vector<ChunkId>;

TEST_F(ChunkPoolTest, GrowsToItsLimitAndNoFurther) {
  pool_.set_limit(5);
  EXPECT_EQ(3U, pool_.grow(3));
  EXPECT_EQ(2U, pool_.grow(4));
  EXPECT_EQ(5U, pool_.existing());
  EXPECT_EQ(5U, pool_.free_count());
  EXPECT_EQ(5 * kTestChunk, used());
}

TEST_F(ChunkPoolTest, AliasesAreNeighboursThatCanBeCopiedInOnePiece) {
  ASSERT_EQ(4U, pool_.grow(4));
  EXPECT_EQ(pool_.alias(0) + 3 * kTestChunk, pool_.alias(3));
  EXPECT_EQ(CUDA_SUCCESS, cuMemsetD8(pool_.alias(0), 7, 4 * kTestChunk));
}

TEST_F(ChunkPoolTest, ADriverThatRefusesLeavesWhatWasMade) {
  for (const char* call : {"cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    const std::size_t before = pool_.existing();
    ASSERT_EQ(0, swd_fail(call, 3, CUDA_ERROR_OUT_OF_MEMORY, 0));
    EXPECT_EQ(2U, pool_.grow(4)) << call;
    swd_clear_faults();
    EXPECT_EQ(before + 2, pool_.existing());
    EXPECT_EQ(pool_.existing() * kTestChunk, used()) << call;
    EXPECT_EQ(1U, pool_.grow(1)) << call << ": the alias is free again";
  }
}

TEST_F(ChunkPoolTest, FreeChunksAreThoseWithoutOwner) {
  ASSERT_EQ(3U, pool_.grow(3));
  pool_.set_owner(1, &owner_, 0);
  EXPECT_EQ(2U, pool_.free_count());
  EXPECT_EQ((Ids{0, 2}), pool_.pick_free(2, false));
  pool_.set_owner(1, &owner_, 5);
  EXPECT_EQ(2U, pool_.free_count()) << "a change of owner is no second taking";
  pool_.clear_owner(1);
  pool_.clear_owner(1);
  EXPECT_EQ(3U, pool_.free_count());
}

TEST_F(ChunkPoolTest, ChunksThatParkedPiecesWantBackGoLast) {
  ASSERT_EQ(4U, pool_.grow(4));
  pool_[0].claims = 1;
  pool_[2].claims = 2;
  EXPECT_EQ(2U, pool_.unclaimed_free());
  EXPECT_EQ((Ids{1, 3}), pool_.pick_free(2, false));
  const Ids all = pool_.pick_free(4, false);
  EXPECT_EQ((Ids{0, 1, 2, 3}), all);
}

TEST_F(ChunkPoolTest, ADestroyedChunkGoesBackToTheCardAndItsNumberIsUsedAgain) {
  ASSERT_EQ(3U, pool_.grow(3));
  pool_.destroy(1);
  EXPECT_EQ(2 * kTestChunk, used());
  EXPECT_EQ((Ids{0, 2}), pool_.pick_free(2, false));
  EXPECT_EQ(1U, pool_.grow(1));
  EXPECT_TRUE(pool_[1].exists);
  EXPECT_EQ(3U, pool_.end());
}

}  // namespace
}  // namespace tferry::runtime
