// Which pages leave a budget of managed memory first, on the software driver.
#include "runtime/managed_memory.hpp"

#include "runtime/device_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tferry::runtime {
namespace {

constexpr std::size_t kPage = ManagedMemory::kPage;

class ManagedMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    swd_set_device_memory(0, 64 * kPage);
    status_.open("");
    config_.managed = true;
  }
  void TearDown() override {
    memory_.reset();
    streams_.reset();
    DeviceTest::TearDown();
    swd_set_device_memory(0, std::size_t{16} << 20);
  }
  void open(std::size_t pages_of_budget) {
    BudgetRule rule;
    rule.source = trace::BudgetSource::kBytes;
    rule.value = static_cast<double>(pages_of_budget * kPage);
    config_.budgets = {rule};
    streams_ = std::make_unique<StreamTable>(driver());
    memory_ = std::make_unique<ManagedMemory>(
        ManagedMemory::Environment{driver(), config_, status_, *streams_}, 0, 0, context_);
    std::string error;
    ASSERT_TRUE(memory_->open(error)) << error;
    stream_ = streams_->find(stream(), false);
  }
  CUdeviceptr allocate(std::size_t pages) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CUDA_SUCCESS, memory_->allocate(pages * kPage, false, &address));
    return address;
  }
  /// An operation that names these.
  void use(const std::vector<CUdeviceptr>& addresses) {
    std::vector<ManagedMemory::Reference> named;
    for (const CUdeviceptr address : addresses) named.push_back(memory_->find(address));
    ManagedMemory::pin(named);
    memory_->acquire(stream_, named);
    const Moment moment = streams_->stamp(stream_);
    ManagedMemory::release(named, &moment);
  }
  void free(CUdeviceptr address) {
    Moments after;
    streams_->add_tails(after);
    ASSERT_TRUE(memory_->free(address, after));
  }
  trace::DeviceStatus& counters() { return status_.device(0); }

  StatusPage status_;
  Config config_;
  std::unique_ptr<StreamTable> streams_;
  std::unique_ptr<ManagedMemory> memory_;
  StreamIndex stream_ = 0;
};

TEST_F(ManagedMemoryTest, WhatWasFreedLeavesBeforeWhatWasUsedLongestAgo) {
  open(6);
  const CUdeviceptr old = allocate(2);
  use({old});
  const CUdeviceptr recent = allocate(4);
  use({recent});
  const CUdeviceptr wanted = allocate(4);
  free(recent);
  use({wanted});  // room for it is what was freed, although `old` was used before
  EXPECT_EQ(0, counters().bytes_out);
  use({old});
  EXPECT_EQ(0, counters().bytes_in);
  EXPECT_EQ(6 * static_cast<std::int64_t>(kPage), counters().resident_peak);
}

/// A table of pointers in device memory leads kernels to memory that no argument names.
TEST_F(ManagedMemoryTest, WhatWasWrittenWithoutBeingNamedIsNotDiscarded) {
  open(6);
  const CUdeviceptr before = allocate(4);
  use({before});
  free(before);
  const CUdeviceptr other = allocate(6);
  use({other});  // the pages of the one before leave
  free(other);
  const CUdeviceptr unnamed = allocate(4);
  ASSERT_EQ(CUDA_SUCCESS, cuMemsetD8_v2(unnamed, 7, 4 * kPage));
  const CUdeviceptr wanted = allocate(6);
  use({wanted});
  free(wanted);
  use({unnamed});
  ASSERT_EQ(CUDA_SUCCESS, cuCtxSynchronize());
  std::vector<unsigned char> bytes(4 * kPage);
  ASSERT_EQ(CUDA_SUCCESS, cuMemcpyDtoH_v2(bytes.data(), unnamed, bytes.size()));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(bytes.size()), std::count(bytes.begin(), bytes.end(), 7));
}

TEST_F(ManagedMemoryTest, TheEmulationOfPlainManagedMemoryKnowsNothingOfFrees) {
  config_.policy = Policy::kNaiveManaged;
  open(6);
  const CUdeviceptr old = allocate(2);
  use({old});
  const CUdeviceptr recent = allocate(4);
  use({recent});
  const CUdeviceptr wanted = allocate(4);
  free(recent);
  use({wanted});
  EXPECT_EQ(2 * static_cast<std::int64_t>(kPage), counters().bytes_out);
}

TEST_F(ManagedMemoryTest, ItIsNeverLargerThanItsLimit) {
  config_.managed_limit = 8 * kPage;
  open(6);
  EXPECT_NE(0U, allocate(8));
  CUdeviceptr more = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, memory_->allocate(kPage, false, &more));
}

}  // namespace
}  // namespace tferry::runtime
