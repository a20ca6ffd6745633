#include "trace/record_window.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace tferry::trace {
namespace {

std::unique_ptr<SpoolWriter> open(const TestDirectory& directory, const std::string& name,
                                  SpoolSource source) {
  return SpoolWriter::open(directory / name, {.source = source});
}

TEST(RecordingTest, PutsTheSpoolsOfOneProcessTogether) {
  const TestDirectory directory;
  auto runtime = open(directory, "r", SpoolSource::kRuntime);
  auto collector = open(directory, "c", SpoolSource::kCollector);
  runtime->append(KernelLaunchRecord{.time_ns = 5, .name = runtime->intern("gemm")});
  collector->append(KernelActivityRecord{.time_ns = 9, .name = collector->intern("gemm")});
  runtime->close();
  collector->close();
  const Recording recording = Recording::read({directory / "c", directory / "r"});
  ASSERT_EQ(recording.processes.size(), 1u);
  const RecordedProcess& process = recording.processes[0];
  EXPECT_EQ(process.pid, getpid());
  RecordWindow window;
  WindowReader(process, 1 << 20).next(window);
  ASSERT_EQ(window.kernel_calls.size(), 1u);
  ASSERT_EQ(window.kernels.size(), 1u);
  EXPECT_EQ(window.kernel_calls[0].name, window.kernels[0].name);
  EXPECT_EQ(recording.strings.at(window.kernels[0].name), "gemm");
  EXPECT_EQ(process.spools.size(), 2u);
}

TEST(RecordingTest, AProcessThatCallsExecIsTwoImages) {
  const TestDirectory directory;
  std::vector<std::string> paths;
  for (const SpoolSource source : {SpoolSource::kRuntime, SpoolSource::kRuntime, SpoolSource::kCollector}) {
    paths.push_back(directory / std::to_string(paths.size()));
    SpoolWriter::open(paths.back(), {.source = source})->close();
  }
  const Recording recording = Recording::read(paths);
  ASSERT_EQ(recording.processes.size(), 2u);
  EXPECT_EQ(recording.processes[0].spools.size(), 1u);
  EXPECT_EQ(recording.processes[1].spools.size(), 2u);
}

TEST(RecordingTest, TheFilesOfASeriesAreOneImageAndWhatTheyRepeatCountsOnce) {
  const TestDirectory directory;
  std::string error;
  auto writer = SpoolWriter::open_in(
      directory / "",
      {.source = SpoolSource::kRuntime, .flush_interval_ns = 5'000'000, .keep_last_ns = 100'000'000}, &error);
  ASSERT_TRUE(writer) << error;
  writer->append(DeviceRecord{.time_ns = 1, .device = 0});
  writer->append(LossRecord{.time_ns = 1, .count = 5});
  writer->append(AllocationRecord{.time_ns = 2, .allocation = 7});
  const StringId name = writer->intern("gemm");
  for (int i = 0; i < 40; ++i) {
    writer->append(KernelLaunchRecord{.time_ns = SpoolWriter::now_ns(), .name = name});
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  writer->close();
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory / ""))
    paths.push_back(entry.path().string());
  ASSERT_GE(paths.size(), 2u);
  const Recording recording = Recording::read(paths);
  ASSERT_EQ(recording.processes.size(), 1u);
  EXPECT_EQ(recording.processes[0].devices.size(), 1u);
  EXPECT_EQ(recording.processes[0].losses.size(), 1u);
  EXPECT_EQ(recording.strings.at(name), "gemm");
  RecordWindow window;
  WindowReader(recording.processes[0], 1 << 20).next(window);
  EXPECT_EQ(window.allocations.size(), 1u);
  EXPECT_GE(window.kernel_calls.size(), 8u);
  EXPECT_LT(window.kernel_calls.size(), 30u);
}

TEST(RecordingTest, SaysWhatItCouldNotRead) {
  const TestDirectory directory;
  spew(directory / "bad", "no spool at all");
  const Recording recording = Recording::read({directory / "bad", directory / "absent"});
  EXPECT_TRUE(recording.processes.empty());
  ASSERT_EQ(recording.unreadable.size(), 2u);
  EXPECT_NE(recording.unreadable[0].find("not a Tensorferry spool"), std::string::npos);
}

TEST(RecordingTest, CountsKindsThatItDoesNotKnow) {
  RecordedProcess process;
  const std::byte fixed[8] = {};
  process.add(SpoolRecordView(static_cast<RecordKind>(60), fixed, {}));
  EXPECT_EQ(process.unknown_records, 1);
}

}  // namespace
}  // namespace tferry::trace
