#include "trace/record_window.hpp"

#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tferry::trace {
namespace {

class WindowTest : public ::testing::Test {
 protected:
  /// A spool whose blocks hold the records that `write` appends between flushes.
  template <typename Write>
  void spool(SpoolSource source, Write&& write) {
    paths_.push_back(directory_ / std::to_string(paths_.size()));
    auto writer =
        SpoolWriter::open(paths_.back(), {.source = source, .flush_interval_ns = 1'000'000'000'000});
    write(*writer);
    writer->close();
  }
  RecordedProcess process() const { return Recording::read(paths_).processes.at(0); }

  TestDirectory directory_;
  std::vector<std::string> paths_;
};

KernelActivityRecord ran_at(std::int64_t time_ns, std::uint32_t correlation = 0) {
  return {.time_ns = time_ns, .end_ns = time_ns + 1, .correlation_id = correlation};
}

std::vector<std::int64_t> times(const std::vector<KernelActivityRecord>& kernels) {
  std::vector<std::int64_t> found;
  for (const KernelActivityRecord& kernel : kernels) found.push_back(kernel.time_ns);
  return found;
}

TEST_F(WindowTest, WhatWasWrittenLateIsReadEarly) {
  spool(SpoolSource::kCollector, [](SpoolWriter& writer) {
    for (const std::int64_t time : {10, 20, 30}) {
      writer.append(ran_at(time));
      writer.flush();
    }
    // CUPTI withholds a buffer while one of its kernels runs.
    writer.append(ran_at(31));
    writer.append(ran_at(5));
  });
  const RecordedProcess recorded = process();
  WindowReader reader(recorded, 1);
  RecordWindow window;
  ASSERT_TRUE(reader.next(window));
  EXPECT_EQ(times(window.kernels), (std::vector<std::int64_t>{5}));
  ASSERT_TRUE(reader.next(window));
  EXPECT_EQ(times(window.kernels), (std::vector<std::int64_t>{5, 10}));
  while (reader.next(window)) {
  }
  EXPECT_EQ(times(window.kernels), (std::vector<std::int64_t>{5, 10, 20, 31, 30}));
  EXPECT_TRUE(reader.at_end());
}

TEST_F(WindowTest, HooksKeepTheirOrder) {
  spool(SpoolSource::kRuntime, [](SpoolWriter& writer) {
    writer.append(AllocationRecord{.time_ns = 10, .allocation = 1});
    writer.flush();
    writer.append_accesses(5, 1, std::vector<AccessEntry>{{.allocation = 1}});
  });
  const RecordedProcess recorded = process();
  WindowReader reader(recorded, 1);
  RecordWindow window;
  ASSERT_TRUE(reader.next(window));
  EXPECT_EQ(window.allocations.size(), 1u);
  EXPECT_EQ(window.accesses.size(), 0u);
  ASSERT_TRUE(reader.next(window));
  EXPECT_EQ(window.accesses.size(), 1u);
}

TEST_F(WindowTest, ASpoolThatIsGoneMeanwhileHasNoRecords) {
  spool(SpoolSource::kCollector, [](SpoolWriter& writer) { writer.append(ran_at(10)); });
  const RecordedProcess recorded = process();
  std::filesystem::remove(paths_[0]);
  RecordWindow window;
  EXPECT_TRUE(WindowReader(recorded, 1).next(window));
  EXPECT_TRUE(window.kernels.empty());
}

TEST_F(WindowTest, NothingIsLostOrDoubledAndEveryMomentIsComplete) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 30; ++round) {
    paths_.clear();
    std::filesystem::remove_all(directory_.path());
    std::filesystem::create_directory(directory_.path());
    const std::uint32_t count = static_cast<std::uint32_t>(random() % 300 + 1);
    std::vector<KernelActivityRecord> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      // Some without a time, some long before or behind their neighbours.
      const auto jump = static_cast<std::int64_t>(random() % 8 == 0 ? random() % 3000 : 0);
      all.push_back(ran_at(random() % 20 == 0 ? 0 : 1000 + 10 * i + jump, i));
    }
    spool(SpoolSource::kCollector, [&](SpoolWriter& writer) {
      for (const KernelActivityRecord& record : all) {
        writer.append(record);
        if (random() % 5 == 0) writer.flush();
      }
    });
    const RecordedProcess recorded = process();
    WindowReader reader(recorded, static_cast<std::int64_t>(random() % 2000 + 1));
    std::set<std::uint32_t> seen;
    std::int64_t latest_ns = 0;
    for (RecordWindow window; reader.next(window); window = {}) {
      for (const KernelActivityRecord& kernel : window.kernels) {
        EXPECT_TRUE(seen.insert(kernel.correlation_id).second);
        latest_ns = std::max(latest_ns, kernel.time_ns);
      }
      for (const KernelActivityRecord& record : all) {
        const bool before = record.time_ns > 0 && record.time_ns < latest_ns;
        EXPECT_TRUE(!before || seen.count(record.correlation_id) > 0)
            << record.time_ns << " is missing before " << latest_ns;
      }
    }
    EXPECT_EQ(seen.size(), all.size());
  }
}

}  // namespace
}  // namespace tferry::trace
