#include "cli/status/status_file.hpp"

#include "cli/testing/status_builder.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <sys/stat.h>

namespace tferry::cli {
namespace {

using testing_support::StatusBuilder;
using testing_support::TemporaryDirectory;

class StatusFileTest : public testing::Test {
 protected:
  std::filesystem::path path_in(const char* name) const { return directory_.path() / name; }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "status.42";
};

TEST_F(StatusFileTest, ReadsEveryCounterAndOnlyDevicesThatWereUsed) {
  StatusBuilder builder;
  builder.set_stage(trace::JobStage::kManaging);
  builder.set_command("python3");
  builder.status().pid = 42;
  builder.device(1).budget = 1000;
  builder.device(1).scan_ns = 7;
  builder.device(1).resident_bytes[static_cast<int>(trace::ResidentReason::kForeign)] = 9;
  builder.write(path_);

  const StatusFileRead read = read_status_file(path_);
  ASSERT_TRUE(read.process) << read.defect;
  EXPECT_EQ(read.process->pid, 42);
  EXPECT_EQ(read.process->command, "python3");
  EXPECT_TRUE(read.process->reached(trace::JobStage::kHooked));
  EXPECT_FALSE(read.process->reached(trace::JobStage::kOff));
  ASSERT_EQ(read.process->devices.size(), 1u);
  const DeviceSnapshot& device = read.process->devices[0];
  EXPECT_EQ(device.device, 1);
  EXPECT_EQ(device.budget, 1000);
  EXPECT_EQ(device.scan_ns, 7);
  EXPECT_EQ(device.resident_bytes.back(), 9);
}

TEST_F(StatusFileTest, NegativeCountersAreUnknown) {
  StatusBuilder builder;
  builder.device(0).budget = 1;
  builder.device(0).allocated_peak = -5;
  builder.write(path_);
  const StatusFileRead read = read_status_file(path_);
  ASSERT_TRUE(read.process);
  EXPECT_EQ(read.process->devices[0].allocated_peak, std::nullopt);
}

TEST_F(StatusFileTest, TextWithoutEndOrWithControlCharactersIsTamed) {
  StatusBuilder builder;
  std::memset(builder.status().command, 'x', sizeof builder.status().command);
  builder.set_message("red \033[31m\n\xff");
  builder.write(path_);
  const StatusFileRead read = read_status_file(path_);
  ASSERT_TRUE(read.process);
  EXPECT_EQ(read.process->command, std::string(sizeof builder.status().command, 'x'));
  EXPECT_EQ(read.process->message, "red ?[31m??");
}

TEST_F(StatusFileTest, OtherFilesAreDefectsWithAReason) {
  EXPECT_EQ(read_status_file(path_in("missing")).defect, "No such file or directory");
  EXPECT_EQ(read_status_file(directory_.path()).defect, "not a regular file");
  StatusBuilder::write_bytes(path_, {});
  EXPECT_EQ(read_status_file(path_).defect.substr(0, 21), "cut off after 0 bytes");
  StatusBuilder::write_bytes(path_, std::vector<char>(sizeof(trace::JobStatus), 'x'));
  EXPECT_EQ(read_status_file(path_).defect.substr(0, 17), "not a status file");
  StatusBuilder builder;
  builder.status().version = 99;
  builder.write(path_);
  EXPECT_NE(read_status_file(path_).defect.find("version 99"), std::string::npos);
}

TEST_F(StatusFileTest, LinksAndPipesAreNotOpened) {
  StatusBuilder().write(path_in("real"));
  std::filesystem::create_symlink(path_in("real"), path_);
  EXPECT_FALSE(read_status_file(path_).process);
  ASSERT_EQ(::mkfifo(path_in("status.43").c_str(), 0600), 0);
  EXPECT_EQ(read_status_file(path_in("status.43")).defect, "not a regular file");
}

TEST_F(StatusFileTest, DirectoryIsReadInOrderAndDefectsAreCounted) {
  StatusBuilder().write(path_in("status.100"));
  StatusBuilder().write(path_in("status.20"));
  StatusBuilder().write(path_in("status.-1"));
  StatusBuilder().write(path_in("status.7x"));
  StatusBuilder::write_bytes(path_in("status.30"), {'b', 'a', 'd'});
  const StatusDirectoryRead read = read_status_directory(directory_.path());
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[0].pid, 20);
  EXPECT_EQ(read.processes[1].pid, 100);
  ASSERT_EQ(read.defects.size(), 1u);
  EXPECT_TRUE(read.defects[0].starts_with("status.30: cut off after 3 bytes")) << read.defects[0];
  EXPECT_EQ(read_status_directory(directory_.path(), 2).defects.back(), "1 more status files were not read");
  EXPECT_EQ(read_status_directory(path_in("missing")).defects.size(), 1u);
}

RC_GTEST_PROP(StatusFileProperty, AnyDamageIsReadOrNamedAndNeverCrashes, ()) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "status.1";
  StatusBuilder builder;
  builder.device(0).budget = 1;
  std::vector<char> bytes = builder.bytes();
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const auto hits = *rc::gen::container<std::vector<std::pair<std::uint16_t, char>>>(
      rc::gen::pair(rc::gen::arbitrary<std::uint16_t>(), rc::gen::arbitrary<char>()));
  for (const auto& [where, value] : hits) {
    if (!bytes.empty()) bytes[where % bytes.size()] = value;
  }
  StatusBuilder::write_bytes(path, bytes);
  const StatusFileRead read = read_status_file(path);
  RC_ASSERT(read.process.has_value() == read.defect.empty());
  if (!read.process) return;
  for (const DeviceSnapshot& device : read.process->devices) {
    for (const auto& [name, value] : device.named()) RC_ASSERT(!value || *value >= 0);
  }
}

}  // namespace
}  // namespace tferry::cli
