#include "runtime/host_pool.hpp"

#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <memory>
#include <set>

namespace tferry::runtime {
namespace {

constexpr std::size_t kCapacity = 64 * kTestChunk;

class HostPoolTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    owner_ = std::make_unique<HostPool>(driver(), context_, kTestChunk, kCapacity);
  }
  void TearDown() override {
    owner_.reset();
    EXPECT_EQ(0U, statistics().allocations) << "registrations that were left";
    DeviceTest::TearDown();
  }
  HostPool& pool() { return *owner_; }

 private:
  std::unique_ptr<HostPool> owner_;
};

TEST_F(HostPoolTest, SlotsAreApartAndWritable) {
  std::set<std::byte*> addresses;
  for (std::size_t i = 0; i < 10; ++i) {
    const SlotId slot = pool().take(kNoSlot);
    ASSERT_NE(kNoSlot, slot);
    EXPECT_TRUE(addresses.insert(pool()[slot].address).second);
    std::memset(pool()[slot].address, 1, kTestChunk);
  }
  EXPECT_EQ(10U, pool().taken());
  for (auto at = addresses.begin(); std::next(at) != addresses.end(); ++at)
    EXPECT_LE(*at + kTestChunk, *std::next(at));
}

TEST_F(HostPoolTest, SlotsAfterOneAnotherAreNeighboursWhereTheyCanBe) {
  const SlotId first = pool().take(kNoSlot);
  const SlotId second = pool().take(first);
  EXPECT_EQ(pool()[first].address + kTestChunk, pool()[second].address);
}

TEST_F(HostPoolTest, EndsAtItsCapacity) {
  std::size_t taken = 0;
  for (SlotId slot = pool().take(kNoSlot); slot != kNoSlot; slot = pool().take(slot)) ++taken;
  EXPECT_EQ(kCapacity / kTestChunk, taken);
  EXPECT_EQ(kCapacity, pool().held_bytes());
  pool().give_back(3);
  EXPECT_EQ(3U, pool().take(kNoSlot));
}

TEST_F(HostPoolTest, PromisesOnlyWhatCanBeHad) {
  EXPECT_TRUE(pool().ensure_free(40));
  EXPECT_LE(40 * kTestChunk, pool().held_bytes());
  EXPECT_FALSE(pool().ensure_free(65));
  const SlotId slot = pool().take(kNoSlot);
  EXPECT_FALSE(pool().ensure_free(64));
  EXPECT_TRUE(pool().ensure_free(63));
  pool().give_back(slot);
  EXPECT_TRUE(pool().ensure_free(64));
}

TEST_F(HostPoolTest, AWishBeyondCapacityPinsNothing) {
  EXPECT_FALSE(pool().ensure_free(std::size_t{1} << 40));
  EXPECT_EQ(0U, pool().held_bytes());
}

TEST_F(HostPoolTest, ADriverWithoutHostMemoryIsToldAsExhausted) {
  ASSERT_EQ(0, swd_fail("cuMemHostRegister_v2", 1, CUDA_ERROR_OUT_OF_MEMORY, 1));
  EXPECT_EQ(kNoSlot, pool().take(kNoSlot));
  EXPECT_FALSE(pool().ensure_free(1));
  swd_clear_faults();
  EXPECT_NE(kNoSlot, pool().take(kNoSlot));
}

TEST_F(HostPoolTest, StoppingTwiceAndTakingAfterwardsAreFine) {
  for (SlotId slot = pool().take(kNoSlot); pool().taken() < 20; slot = pool().take(slot)) {
  }
  pool().stop();
  pool().stop();
  EXPECT_NE(kNoSlot, pool().take(kNoSlot));
}

TEST(AvailableHostMemory, IsSomething) { EXPECT_LT(std::size_t{1} << 20, available_host_memory()); }

}  // namespace
}  // namespace tferry::runtime
