#include "trace/slot_log.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sys/stat.h>

namespace tferry::trace {
namespace {

class SlotLogTest : public ::testing::Test {
 protected:
  std::string path() const { return directory_.path() + "/slots.1"; }
  static SlotEntry entry(std::int64_t at) {
    return {.link = 7,
            .bytes = 100,
            .round = 3,
            .asked_ns = at,
            .granted_ns = at + 5,
            .ended_ns = at + 9,
            .rank = 1};
  }
  TestDirectory directory_;
};

TEST_F(SlotLogTest, HasWhatWasAppendedAndIsTheUsersAlone) {
  {
    auto log = SlotLogWriter::create(path());
    ASSERT_TRUE(log);
    for (int i = 0; i < 1000; ++i) log->append(entry(i));
  }
  const SlotLog read = read_slot_log(path());
  ASSERT_EQ(1000U, read.entries.size());
  EXPECT_EQ(999, read.entries.back().asked_ns);
  EXPECT_EQ(0U, read.damaged);
  EXPECT_FALSE(read.full);
  struct stat status{};
  ASSERT_EQ(0, ::stat(path().c_str(), &status));
  EXPECT_EQ(0600U, status.st_mode & 0777);
  EXPECT_FALSE(SlotLogWriter::create(path())) << "nothing is overwritten";
}

// A killed process: the last entry may be half there.
TEST_F(SlotLogTest, TheEndMayBeMissing) {
  {
    auto log = SlotLogWriter::create(path());
    for (int i = 0; i < 10; ++i) log->append(entry(i));
  }
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) - 1);
  EXPECT_EQ(9U, read_slot_log(path()).entries.size());
}

TEST_F(SlotLogTest, DamageIsCountedAndForeignFilesAreRefused) {
  std::ofstream(path()) << "something else";
  EXPECT_THROW(read_slot_log(path()), std::runtime_error);
  EXPECT_THROW(read_slot_log(path() + ".none"), std::runtime_error);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::filesystem::remove(path());
    {
      auto log = SlotLogWriter::create(path());
      for (int i = 0; i < 20; ++i) log->append(entry(i));
    }
    std::mt19937 random(seed);
    {
      std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
      for (int change = 0; change < 8; ++change) {
        file.seekp(8 + random() % (20 * sizeof(SlotEntry)));
        file.put(static_cast<char>(random()));
      }
    }
    const SlotLog read = read_slot_log(path());
    EXPECT_EQ(20U, read.entries.size() + read.damaged);
    for (const SlotEntry& one : read.entries) {
      EXPECT_LE(one.asked_ns, one.granted_ns);
      EXPECT_LE(one.granted_ns, one.ended_ns);
      EXPECT_LE(one.direction, 1);
    }
  }
}

}  // namespace
}  // namespace tferry::trace
