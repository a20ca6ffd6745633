#include "runtime/block_store.hpp"

#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

namespace tferry::runtime {
namespace {

class BlockStoreTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    CUdeviceptr base = 0;
    ASSERT_EQ(CUDA_SUCCESS, cuMemAddressReserve(&base, 64 * kTestChunk, 0, 0, 0));
    ASSERT_TRUE(pool_.open());
    ASSERT_EQ(8U, pool_.grow(8));
    store_ = std::make_unique<BlockStore>(pool_, AddressRange(base, 64 * kTestChunk), 0);
    ASSERT_TRUE(store_->open());
  }
  Block* make(std::vector<ChunkId> chunks) { return store_->make(chunks); }
  static std::uint8_t byte_at(CUdeviceptr address) {
    std::uint8_t value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, address, 1));
    return value;
  }

  ChunkPool pool_{driver(), 0, kTestChunk, 16};
  std::unique_ptr<BlockStore> store_;
};

TEST_F(BlockStoreTest, ABlockShowsItsChunksInOrder) {
  Block* block = make({5, 2});
  ASSERT_NE(nullptr, block);
  ASSERT_EQ(CUDA_SUCCESS, cuMemsetD8(pool_.alias(5), 50, kTestChunk));
  ASSERT_EQ(CUDA_SUCCESS, cuMemsetD8(pool_.alias(2), 20, kTestChunk));
  EXPECT_EQ(50, byte_at(block->address + kTestChunk - 1));
  EXPECT_EQ(20, byte_at(block->address + kTestChunk));
}

TEST_F(BlockStoreTest, EveryAddressOfABlockFindsIt) {
  Block* first = make({0, 1, 2});
  Block* second = make({3});
  EXPECT_EQ(first, store_->find(first->address));
  EXPECT_EQ(first, store_->find(first->address + 3 * kTestChunk - 1));
  EXPECT_EQ(second, store_->find(second->address));
  EXPECT_EQ(nullptr, store_->find(second->address + kTestChunk));
  EXPECT_EQ(nullptr, store_->find(1234));
}

TEST_F(BlockStoreTest, APieceCanBeMappedAnew) {
  Block* block = make({0, 1});
  ASSERT_EQ(CUDA_SUCCESS, cuMemsetD8(pool_.alias(7), 77, kTestChunk));
  ASSERT_TRUE(store_->remap(*block, 1, 7));
  EXPECT_EQ(77, byte_at(block->address + kTestChunk));
  EXPECT_TRUE(store_->remap(*block, 1, kNoChunk));
  EXPECT_EQ(kNoChunk, block->pieces[1].chunk);
}

TEST_F(BlockStoreTest, ADestroyedBlockLeavesNothingMapped) {
  const std::size_t before = statistics().mappings;
  Block* block = make({0, 1});
  const CUdeviceptr address = block->address;
  store_->destroy(*block);
  EXPECT_EQ(before, statistics().mappings);
  EXPECT_EQ(nullptr, store_->find(address));
  EXPECT_EQ(0U, store_->mapped_bytes());
  EXPECT_EQ(address, make({4})->address);
}

TEST_F(BlockStoreTest, ADriverThatRefusesLeavesNothingBehind) {
  const std::size_t before = statistics().mappings;
  for (const auto& [call, nth] : {std::pair{"cuMemMap", 2}, std::pair{"cuMemSetAccess", 1}}) {
    ASSERT_EQ(0, swd_fail(call, nth, CUDA_ERROR_UNKNOWN, 0));
    EXPECT_EQ(nullptr, make({0, 1, 2})) << call;
    swd_clear_faults();
    EXPECT_EQ(before, statistics().mappings) << call;
  }
  EXPECT_NE(nullptr, make({0, 1, 2}));
}

TEST_F(BlockStoreTest, ARemapThatFailsCanBeTriedAgain) {
  Block* block = make({0});
  for (const char* call : {"cuMemMap", "cuMemSetAccess"}) {
    ASSERT_EQ(0, swd_fail(call, 1, CUDA_ERROR_UNKNOWN, 0));
    EXPECT_FALSE(store_->remap(*block, 0, 3)) << call;
    swd_clear_faults();
    EXPECT_EQ(kNoChunk, block->pieces[0].chunk) << call;
    EXPECT_TRUE(store_->remap(*block, 0, 3)) << call;
  }
}

TEST_F(BlockStoreTest, FreeBlocksAreKeptBySizeLowestAddressFirst) {
  Block* a = make({0});
  Block* b = make({1, 2});
  Block* c = make({3});
  for (Block* block : {c, b, a}) store_->add_free(*block);
  const auto ones = store_->free_blocks(1);
  EXPECT_EQ((std::vector<Block*>{a, c}), (std::vector<Block*>{ones.begin(), ones.end()}));
  store_->remove_free(*a);
  EXPECT_EQ(c, store_->free_blocks(1)[0]);
  EXPECT_EQ(b, store_->free_blocks(2)[0]);
  EXPECT_TRUE(store_->free_blocks(3).empty());
  EXPECT_EQ((std::vector<Block*>{b}), store_->free_blocks_mapping(2));
}

}  // namespace
}  // namespace tferry::runtime
