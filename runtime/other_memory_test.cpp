#include "runtime/other_memory.hpp"

#include "runtime/recorder.hpp"
#include "trace/spool_reader.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <vector>

namespace tferry::runtime {
namespace {

using trace::AllocationApi;

class OtherMemoryTest : public ::testing::Test {
 protected:
  OtherMemoryTest() : recorder_(Recorder::open(directory_.path(), 0, 0, error_)), memory_(*recorder_) {}

  /// What the recording says: allocations in their order, numbers of what was freed.
  void read() {
    recorder_->close();
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      trace::SpoolReader reader(entry.path());
      while (const auto record = reader.next()) {
        if (const auto made = record->as<trace::AllocationRecord>()) made_.push_back(*made);
        if (const auto gone = record->as<trace::FreeRecord>()) freed_.insert(gone->allocation);
      }
    }
  }

  trace::TestDirectory directory_;
  std::string error_;
  std::unique_ptr<Recorder> recorder_;
  OtherMemory memory_;
  std::vector<trace::AllocationRecord> made_;
  std::multiset<std::uint64_t> freed_;
};

TEST_F(OtherMemoryTest, IsRecordedWithItsKindFromItsCallToItsRelease) {
  const int handle = 0;
  memory_.allocated(AllocationApi::kManaged, 0x1000, 100, 1);
  memory_.allocated(AllocationApi::kHost, 0x2000, 200, -1);
  memory_.allocated(AllocationApi::kPool, 0x3000, 300, 0);
  memory_.array_made(&handle, 400, 0);
  memory_.freed(0x2000);
  memory_.array_destroyed(&handle);
  memory_.freed(0x2000);
  memory_.freed(0x2001);
  read();
  ASSERT_EQ(4U, made_.size());
  EXPECT_EQ(trace::MemoryKind::kManaged, made_[0].kind);
  EXPECT_EQ(1, made_[0].device);
  EXPECT_EQ(trace::MemoryKind::kPinned, made_[1].kind);
  EXPECT_EQ(trace::MemoryKind::kDevice, made_[2].kind);
  EXPECT_EQ(AllocationApi::kPool, made_[2].api);
  EXPECT_EQ(trace::MemoryKind::kArray, made_[3].kind);
  EXPECT_EQ(400, made_[3].bytes);
  EXPECT_EQ((std::multiset<std::uint64_t>{made_[1].allocation, made_[3].allocation}), freed_);
}

TEST_F(OtherMemoryTest, ACallMayUnmapSeveralMappings) {
  for (std::uint64_t at = 0; at < 4; ++at)
    memory_.allocated(AllocationApi::kVirtual, 0x10000 + at * 0x1000, 0x1000, 0);
  memory_.unmapped(0x11000, 0x2000);
  EXPECT_TRUE(memory_.find(0x10fff));
  EXPECT_FALSE(memory_.find(0x11000));
  EXPECT_FALSE(memory_.find(0x12fff));
  EXPECT_TRUE(memory_.find(0x13000));
  read();
  EXPECT_EQ((std::multiset<std::uint64_t>{made_[1].allocation, made_[2].allocation}), freed_);
}

TEST_F(OtherMemoryTest, AWordInsideBelongsToIt) {
  memory_.allocated(AllocationApi::kHost, 0x2000, 0x100, -1);
  memory_.allocated(AllocationApi::kHost, 0x4000, 0x100, -1);
  ASSERT_TRUE(memory_.find(0x20ff));
  EXPECT_EQ(0x2000U, memory_.find(0x20ff)->address);
  for (const std::uint64_t outside : {0x1fffU, 0x2100U, 0x3fffU, 0x4100U, 0U})
    EXPECT_FALSE(memory_.find(outside));
}

// The release was not seen: another library's, or through an entry point that is not hooked.
TEST_F(OtherMemoryTest, WhatWasAtTheSameAddressBeforeIsGone) {
  memory_.allocated(AllocationApi::kHost, 0x2000, 0x100, -1);
  const auto before = memory_.find(0x2000);
  memory_.allocated(AllocationApi::kHost, 0x2000, 0x200, -1);
  EXPECT_NE(before->allocation, memory_.find(0x2000)->allocation);
  read();
  EXPECT_EQ((std::multiset<std::uint64_t>{before->allocation}), freed_);
}

TEST_F(OtherMemoryTest, NonsenseIsLeftAlone) {
  memory_.allocated(AllocationApi::kHost, 0, 100, -1);
  memory_.allocated(AllocationApi::kHost, 0x1000, 0, -1);
  memory_.allocated(AllocationApi::kHost, ~std::uint64_t{0}, 100, -1);
  memory_.allocated(AllocationApi::kVirtual, 0x1000, 100, 0);
  memory_.unmapped(~std::uint64_t{0}, 100);
  EXPECT_TRUE(memory_.find(0x1000));
  read();
  EXPECT_EQ(1U, made_.size());
}

}  // namespace
}  // namespace tferry::runtime
