// Copies by a neighbour's link, on the software driver with two devices: right bytes in the stream's order,
// also where the driver refuses any of the calls, and nothing left behind.
#include "runtime/neighbour_link.hpp"

#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tferry::runtime {
namespace {

using Way = trace::CopyRoute::Way;
constexpr std::size_t kBytes = 3 << 20;

class NeighbourLinkTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    swd_set_device_memory(1, std::size_t{128} << 20);
    ASSERT_EQ(CUDA_SUCCESS, cuMemAlloc_v2(&device_, kBytes));
    ASSERT_EQ(CUDA_SUCCESS, cuMemHostAlloc(&host_, kBytes, CU_MEMHOSTALLOC_PORTABLE));
    stream_ = stream();
  }
  void TearDown() override {
    swd_clear_faults();
    link_.reset();
    EXPECT_EQ(CUDA_SUCCESS, cuMemFreeHost(host_));
    DeviceTest::TearDown();
    swd_set_device_memory(1, std::size_t{16} << 20);
  }

  void open(Way way, int via = -1) {
    std::string why;
    link_ = NeighbourLink::open(driver(), 0, {way, via}, why);
    ASSERT_NE(nullptr, link_) << why;
  }
  static std::vector<unsigned char> pattern(unsigned seed) {
    std::vector<unsigned char> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(seed + i * 7 + (i >> 8));
    return bytes;
  }
  void fill_host(unsigned seed) const { std::memcpy(host_, pattern(seed).data(), kBytes); }
  bool host_has(unsigned seed) const { return std::memcmp(host_, pattern(seed).data(), kBytes) == 0; }
  /// In and, with the host's bytes wiped in between, out again.
  void round_trip(unsigned seed) {
    fill_host(seed);
    ASSERT_EQ(CUDA_SUCCESS, link_->copy_in(device_, host_, kBytes, stream_));
    ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    std::memset(host_, 0, kBytes);
    ASSERT_EQ(CUDA_SUCCESS, link_->copy_out(host_, device_, kBytes, stream_));
    ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    EXPECT_TRUE(host_has(seed));
  }
  static SwdStatistics of(int device) {
    SwdStatistics all{};
    EXPECT_EQ(0, swd_statistics(device, &all));
    return all;
  }

  CUdeviceptr device_ = 0;
  void* host_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<NeighbourLink> link_;
};

TEST_F(NeighbourLinkTest, AllBytesGoByTheNeighboursLink) {
  open(Way::kNeighbour);
  const SwdStatistics own = of(0), neighbour = of(1);
  round_trip(1);
  EXPECT_EQ(own.h2d_bytes, of(0).h2d_bytes);
  EXPECT_EQ(own.d2h_bytes, of(0).d2h_bytes);
  EXPECT_EQ(neighbour.h2d_bytes + static_cast<std::int64_t>(kBytes), of(1).h2d_bytes);
  EXPECT_EQ(neighbour.d2h_bytes + static_cast<std::int64_t>(kBytes), of(1).d2h_bytes);
  EXPECT_FALSE(link_->broken());
}

TEST_F(NeighbourLinkTest, ByBothLinksEachTakesAPart) {
  open(Way::kBoth);
  const SwdStatistics own = of(0), neighbour = of(1);
  round_trip(2);
  const std::int64_t by_own = of(0).h2d_bytes - own.h2d_bytes;
  const std::int64_t by_neighbour = of(1).h2d_bytes - neighbour.h2d_bytes;
  EXPECT_EQ(static_cast<std::int64_t>(kBytes), by_own + by_neighbour);
  EXPECT_GT(by_own, by_neighbour);
  EXPECT_GT(by_neighbour, by_own / 2);
}

TEST_F(NeighbourLinkTest, MoreCopiesThanStagesKeepTheirOrder) {
  swd_set_jitter(11);  // a wait that is missing shows as wrong bytes
  for (const Way way : {Way::kNeighbour, Way::kBoth}) {
    link_.reset();
    swd_set_device_memory(1, std::size_t{2} << 20);
    open(way);
    fill_host(3);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(CUDA_SUCCESS, link_->copy_in(device_, host_, kBytes, stream_));
      ASSERT_EQ(CUDA_SUCCESS, link_->copy_out(host_, device_, kBytes, stream_));
    }
    ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    EXPECT_TRUE(host_has(3));
  }
  swd_set_jitter(0);
}

TEST_F(NeighbourLinkTest, ACopyComesBehindWhatTheStreamWaitsForAndAheadOfWhatFollows) {
  open(Way::kNeighbour);
  fill_host(4);
  Gate gate;
  gate.close_after(stream_);
  ASSERT_EQ(CUDA_SUCCESS, link_->copy_in(device_, host_, kBytes, stream_));
  fill_host(5);  // nothing has been read yet
  const CUdeviceptr other = [] {
    CUdeviceptr made = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc_v2(&made, kBytes));
    return made;
  }();
  ASSERT_EQ(CUDA_SUCCESS, cuMemcpyDtoDAsync_v2(other, device_, kBytes, stream_));
  gate.open();
  std::vector<unsigned char> found(kBytes);
  ASSERT_EQ(CUDA_SUCCESS, cuMemcpyDtoHAsync_v2(found.data(), other, kBytes, stream_));
  ASSERT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
  EXPECT_EQ(pattern(5), found);
}

TEST_F(NeighbourLinkTest, WhateverCallIsRefusedTheBytesAreRightAndLaterCopiesGoDirectly) {
  for (const Way way : {Way::kNeighbour, Way::kBoth}) {
    for (const char* call : {"cuEventRecord", "cuStreamWaitEvent", "cuMemcpyDtoDAsync_v2",
                             "cuCtxPushCurrent_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
      for (const int nth : {1, 2, 3, 4, 5, 20, 40}) {
        link_.reset();
        swd_set_device_memory(1, std::size_t{2} << 20);  // small stages: a copy is many pieces
        open(way);
        ASSERT_EQ(0, swd_fail(call, nth, CUDA_ERROR_NOT_SUPPORTED, 0));
        round_trip(static_cast<unsigned>(nth));
        swd_clear_faults();
        const bool was_broken = link_->broken();
        const SwdStatistics neighbour = of(1);
        round_trip(7);
        EXPECT_EQ(was_broken, neighbour.h2d_bytes == of(1).h2d_bytes) << call << ' ' << nth;
      }
    }
  }
}

TEST_F(NeighbourLinkTest, ANeighbourWithLittleRoomHasSmallerStages) {
  link_.reset();
  swd_set_device_memory(1, std::size_t{1} << 20);
  open(Way::kNeighbour);
  EXPECT_LE(of(1).memory_used, std::size_t{1} << 20);
  round_trip(6);
}

TEST_F(NeighbourLinkTest, WithoutANeighbourItSaysWhy) {
  std::string why;
  EXPECT_EQ(nullptr, NeighbourLink::open(driver(), 0, {Way::kBoth, 0}, why));
  EXPECT_EQ("GPU 0 is no neighbour of it in this process", why);
  EXPECT_EQ(nullptr, NeighbourLink::open(driver(), 0, {Way::kBoth, 5}, why));
  ASSERT_EQ(0, swd_fail("cuDeviceCanAccessPeer", 1, CUDA_ERROR_NOT_SUPPORTED, 1));
  EXPECT_EQ(nullptr, NeighbourLink::open(driver(), 0, {Way::kBoth, -1}, why));
  EXPECT_EQ("no other GPU can be reached by this one directly", why);
}

TEST_F(NeighbourLinkTest, WhatCannotBeMadeLeavesNothingBehind) {
  const SwdStatistics before = of(1);
  for (const char* call : {"cuDevicePrimaryCtxRetain", "cuMemCreate", "cuMemAddressReserve", "cuMemMap",
                           "cuMemSetAccess", "cuStreamCreate", "cuEventCreate"}) {
    ASSERT_EQ(0, swd_fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY, 1));
    std::string why;
    EXPECT_EQ(nullptr, NeighbourLink::open(driver(), 0, {Way::kBoth, -1}, why)) << call;
    EXPECT_FALSE(why.empty());
    swd_clear_faults();
  }
  open(Way::kBoth);
  round_trip(8);
  link_.reset();
  const SwdStatistics after = of(1);
  EXPECT_EQ(before.memory_used, after.memory_used);
  EXPECT_EQ(before.reservations, after.reservations);
  EXPECT_EQ(before.mappings, after.mappings);
  EXPECT_EQ(before.chunks, after.chunks);
  EXPECT_EQ(before.streams, after.streams);
  EXPECT_EQ(before.events, after.events);
}

}  // namespace
}  // namespace tferry::runtime
