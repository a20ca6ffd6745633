#include "trace/spool_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tferry::trace {
namespace {

using SpoolWriterTest = SpoolFixture;

TEST_F(SpoolWriterTest, GivesBackWhatWasAppendedInOrder) {
  auto writer = open({.source = SpoolSource::kRuntime});
  const KernelLaunchRecord launch{
      .time_ns = 5, .return_ns = 7, .operation = 3, .name = writer->intern("gemm"), .grid = {1, 2, 3}};
  const AccessEntry accesses[] = {{.allocation = 11, .offset = 64, .kind = AccessKind::kMayTouch},
                                  {.allocation = 12}};
  EXPECT_TRUE(writer->append(launch));
  EXPECT_TRUE(writer->append_accesses(6, 3, accesses));
  writer->close();

  SpoolReader reader(path());
  EXPECT_EQ(reader.header().pid, getpid());
  EXPECT_EQ(reader.header().source, SpoolSource::kRuntime);
  EXPECT_GT(reader.header().start_monotonic_ns, 0);
  EXPECT_GT(reader.header().start_realtime_ns, 0);

  auto record = reader.next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->as<StringRecord>()->id, launch.name);
  EXPECT_EQ(record->text(), "gemm");
  record = reader.next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->as<KernelLaunchRecord>()->operation, 3u);
  EXPECT_EQ(record->as<KernelLaunchRecord>()->grid, (Dim3{1, 2, 3}));
  EXPECT_FALSE(record->as<FreeRecord>());
  record = reader.next();
  ASSERT_TRUE(record);
  ASSERT_EQ(record->accesses().size(), 2u);
  EXPECT_EQ(record->accesses()[0].offset, 64);
  EXPECT_EQ(record->accesses()[1].allocation, 12u);
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.status()->state, SpoolState::kClosed);
  EXPECT_EQ(reader.status()->records, 3);
  EXPECT_EQ(reader.unread_bytes(), 0);
}

TEST_F(SpoolWriterTest, InternsTheSameStringToTheSameIdAndWritesItOnce) {
  auto writer = open();
  const StringId first = writer->intern("a kernel");
  EXPECT_EQ(writer->intern("a kernel"), first);
  EXPECT_NE(writer->intern("another"), first);
  EXPECT_EQ(writer->intern(""), 0u);
  writer->close();
  SpoolReader reader(path());
  std::map<StringId, std::string> strings;
  while (auto record = reader.next()) strings.emplace(record->as<StringRecord>()->id, record->text());
  EXPECT_EQ(reader.records(), 2);
  EXPECT_EQ(strings.at(first), "a kernel");
}

TEST_F(SpoolWriterTest, EveryProducersRecordsArriveInItsOrder) {
  constexpr std::uint64_t kEach = 20'000;
  constexpr std::uint32_t kThreads = 4;
  auto writer = open({.block_bytes = 16 << 10, .block_count = 256});
  std::vector<std::thread> producers;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    producers.emplace_back([&writer, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        writer->append(
            FreeRecord{.time_ns = static_cast<std::int64_t>(i), .allocation = i, .thread = thread});
        if (i % 5000 == 0) writer->flush();
      }
    });
  }
  for (auto& producer : producers) producer.join();
  writer->close();

  SpoolReader reader(path());
  std::vector<std::vector<std::uint64_t>> seen(kThreads);
  while (auto record = reader.next()) {
    const FreeRecord free = record->as<FreeRecord>().value();
    ASSERT_LT(free.thread, kThreads);
    seen[free.thread].push_back(free.allocation);
  }
  for (const auto& numbers : seen) EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  const std::int64_t lost = reader.status()->loss[static_cast<int>(RecordKind::kFree)].count;
  EXPECT_EQ(reader.records() + lost, std::int64_t{kEach} * kThreads);
  EXPECT_EQ(lost, writer->dropped());
}

TEST_F(SpoolWriterTest, ReachesTheFileByItselfWithinTheFlushInterval) {
  auto writer = open({.flush_interval_ns = 1'000'000});
  writer->append(numbered(0));
  SpoolReader reader(path());
  while (!reader.next()) std::this_thread::yield();
  EXPECT_EQ(reader.records(), 1);
}

TEST_F(SpoolWriterTest, NeverOverwritesAFile) {
  spew(path(), "precious");
  std::string error;
  EXPECT_FALSE(SpoolWriter::open(path(), {}, &error));
  EXPECT_NE(error.find("File exists"), std::string::npos) << error;
  EXPECT_EQ(slurp(path()), "precious");
  EXPECT_FALSE(SpoolWriter::open(path("no/such/directory"), {}, &error));
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

TEST_F(SpoolWriterTest, OpenInTakesTheNextFreeName) {
  const auto first = SpoolWriter::open_in(directory_.path(), {.source = SpoolSource::kCollector});
  const auto second = SpoolWriter::open_in(directory_.path(), {.source = SpoolSource::kCollector});
  ASSERT_TRUE(first && second);
  const std::string stem = path("spool." + std::to_string(getpid()) + ".collector.");
  EXPECT_EQ(first->path(), stem + "0");
  EXPECT_EQ(second->path(), stem + "1");
}

TEST_F(SpoolWriterTest, StopsAtTheSizeLimitAndSaysSo) {
  auto writer = open({.block_bytes = 4096, .size_limit = kBlocksOffset + 3 * 4096});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    writer->append(numbered(i));
    if (i % 50 == 0) writer->flush();
  }
  writer->close();
  EXPECT_LE(fs::file_size(path()), kBlocksOffset + 3u * 4096);
  SpoolReader reader(path());
  const auto numbers = read_numbers(reader);
  EXPECT_EQ(numbers, first_numbers(numbers.size()));
  const SpoolStatus status = reader.status().value();
  EXPECT_EQ(status.state, SpoolState::kSizeLimit);
  const SpoolLoss loss = status.loss[static_cast<int>(RecordKind::kFree)];
  EXPECT_EQ(static_cast<std::int64_t>(numbers.size()) + loss.count, 1000);
  EXPECT_EQ(loss.first_ns, static_cast<std::int64_t>(1000 + numbers.size()));
  EXPECT_EQ(loss.last_ns, 1999);
}

std::atomic<std::int64_t> disk_bytes;  // what the disk of the test below still takes

ssize_t write_to_small_disk(int file, const void* data, std::size_t size, off_t offset) {
  if (offset < kBlocksOffset) return pwrite(file, data, size, offset);
  const auto fits =
      static_cast<std::size_t>(std::min<std::int64_t>(disk_bytes, static_cast<std::int64_t>(size)));
  if (fits == 0) {
    errno = ENOSPC;
    return -1;
  }
  disk_bytes -= static_cast<std::int64_t>(fits);
  return pwrite(file, data, fits, offset);
}

TEST_F(SpoolWriterTest, KeepsWhatItHasWhenTheDiskIsFull) {
  disk_bytes = 5000;
  auto writer = open({.block_bytes = 4096, .write = write_to_small_disk});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    writer->append(numbered(i));
    if (i % 50 == 49) writer->flush();
  }
  EXPECT_EQ(writer->state(), SpoolState::kDiskFull);
  writer->close();
  SpoolReader reader(path());
  EXPECT_EQ(read_numbers(reader), first_numbers(100));
  EXPECT_EQ(reader.unread_bytes(), 0);
  EXPECT_EQ(reader.status()->state, SpoolState::kDiskFull);
  EXPECT_EQ(reader.status()->error_number, ENOSPC);
  EXPECT_EQ(reader.status()->loss[static_cast<int>(RecordKind::kFree)].count, 900);
}

std::atomic<bool> disk_stalls;

ssize_t write_to_stalling_disk(int file, const void* data, std::size_t size, off_t offset) {
  while (offset >= kBlocksOffset && disk_stalls) std::this_thread::yield();
  return pwrite(file, data, size, offset);
}

TEST_F(SpoolWriterTest, DropsAndCountsWhenTheDiskIsSlowerThanTheJob) {
  disk_stalls = true;
  auto writer = open({.block_bytes = 4096, .block_count = 4, .write = write_to_stalling_disk});
  std::uint64_t appended = 0;
  while (writer->append(numbered(appended))) ++appended;
  writer->append(GateRecord{.time_ns = 77});
  disk_stalls = false;
  writer->flush();
  EXPECT_TRUE(writer->append(numbered(appended)));
  writer->close();
  SpoolReader reader(path());
  EXPECT_EQ(read_numbers(reader), first_numbers(appended + 1));
  const SpoolStatus status = reader.status().value();
  EXPECT_EQ(status.state, SpoolState::kClosed);
  EXPECT_EQ(status.loss[static_cast<int>(RecordKind::kFree)].count, 1);
  EXPECT_EQ(status.loss[static_cast<int>(RecordKind::kGate)].count, 1);
  EXPECT_EQ(status.loss[static_cast<int>(RecordKind::kGate)].first_ns, 77);
}

TEST_F(SpoolWriterTest, ARecordLargerThanABlockIsDroppedAndCounted) {
  auto writer = open({.block_bytes = 4096});
  const std::vector<AccessEntry> many(1000);
  EXPECT_FALSE(writer->append(AccessRecord{1, 1, many.size()}, std::as_bytes(std::span(many))));
  writer->close();
  SpoolReader reader(path());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.status()->loss[static_cast<int>(RecordKind::kAccess)].count, 1);
}

TEST_F(SpoolWriterTest, TheAccessesOfOneOperationMayBeAnyNumber) {
  auto writer = open({.block_bytes = 4096});
  std::vector<AccessEntry> many(1050);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].allocation = i;
  EXPECT_TRUE(writer->append_accesses(1, 7, many));
  EXPECT_TRUE(writer->append_accesses(2, 8, {}));
  writer->close();
  SpoolReader reader(path());
  std::uint64_t seen = 0;
  while (auto record = reader.next()) {
    if (record->time_ns() == 2) break;
    EXPECT_EQ(record->as<AccessRecord>()->operation, 7u);
    for (const AccessEntry& entry : record->accesses()) EXPECT_EQ(entry.allocation, seen++);
  }
  EXPECT_EQ(seen, many.size());
}

// HPCToolkit#195, #326, torch-xpu-ops#5287: a forked child hung in a flush, or wrote its parent's data again.
TEST_F(SpoolWriterTest, AForkedChildNeitherFlushesNorWrites) {
  auto writer = open({.flush_interval_ns = 1'000'000'000'000});
  writer->append(numbered(0));
  const pid_t child = fork();
  if (child == 0) {
    bool dead = !writer->append(numbered(99));
    writer->flush();
    writer->close();
    writer.reset();
    _exit(dead ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(fs::file_size(path()), kStatusOffset + kStatusStride + sizeof(SpoolStatus));
  writer->append(numbered(1));
  writer->close();
  SpoolReader reader(path());
  EXPECT_EQ(read_numbers(reader), first_numbers(2));
}

// NeMo-RL#4090: workers killed at teardown left no trace.
TEST_F(SpoolWriterTest, SigkillLosesNothingThatWasFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    auto writer = SpoolWriter::open(path(), {});
    for (std::uint64_t i = 0; i < 5000; ++i) writer->append(numbered(i));
    writer->flush();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  SpoolReader reader(path());
  EXPECT_EQ(read_numbers(reader), first_numbers(5000));
  EXPECT_EQ(reader.status()->state, SpoolState::kRunning);
}

}  // namespace
}  // namespace tferry::trace
