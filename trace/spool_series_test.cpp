// Spools that keep the last while only.
#include "trace/spool_series.hpp"

#include "trace/spool_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

namespace tferry::trace {
namespace {

constexpr std::int64_t kKept = 200'000'000;

class SpoolSeriesTest : public SpoolFixture {
 protected:
  std::unique_ptr<SpoolWriter> keep_last(SpoolOptions options = {}) {
    options.source = SpoolSource::kRuntime;
    options.keep_last_ns = kKept;
    options.flush_interval_ns = 5'000'000;
    std::string error;
    auto writer = SpoolWriter::open_in(directory_ / "", options, &error);
    EXPECT_TRUE(writer) << error;
    return writer;
  }
  /// A free of the number now, and a pause.
  void note(SpoolWriter& writer, std::uint64_t number) {
    writer.append(FreeRecord{.time_ns = SpoolWriter::now_ns(), .allocation = number});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_ / "")) names.push_back(entry.path().string());
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return SpoolReader(a).header().start_monotonic_ns < SpoolReader(b).header().start_monotonic_ns;
    });
    return names;
  }
};

TEST_F(SpoolSeriesTest, KeepsAtLeastTheLastWhileAndRemovesWhatIsOlder) {
  auto writer = keep_last();
  std::vector<std::int64_t> times;
  for (std::uint64_t number = 0; number < 200; ++number) {
    times.push_back(SpoolWriter::now_ns());
    note(*writer, number);
  }
  const std::int64_t end_ns = SpoolWriter::now_ns();
  writer->close();
  ASSERT_LE(files().size(), 3u);
  std::set<std::uint64_t> found;
  for (const std::string& file : files()) {
    SpoolReader reader(file);
    EXPECT_EQ(reader.status()->state, SpoolState::kClosed) << file;
    for (const std::uint64_t number : read_numbers(reader))
      EXPECT_TRUE(found.insert(number).second) << number;
  }
  EXPECT_EQ(found.count(0), 0u);
  for (std::uint64_t number = 0; number < times.size(); ++number) {
    if (times[number] > end_ns - kKept) {
      EXPECT_EQ(found.count(number), 1u) << number;
    }
  }
}

TEST_F(SpoolSeriesTest, EveryFileBeginsWithWhatItsRecordsReferTo) {
  auto writer = keep_last();
  writer->append(DeviceRecord{.time_ns = 1, .device = 3});
  const StringId name = writer->intern("gemm");
  writer->append(AllocationRecord{.time_ns = 2, .allocation = 7, .bytes = 70});
  writer->append(AllocationRecord{.time_ns = 3, .allocation = 8, .bytes = 80});
  writer->append(FreeRecord{.time_ns = 4, .allocation = 8});
  for (std::uint64_t number = 100; number < 200; ++number) note(*writer, number);
  writer->close();
  SpoolReader reader(files().front());
  std::set<std::uint64_t> alive;
  bool device = false, text = false;
  while (const auto record = reader.next()) {
    if (!reader.block().repeats) break;
    if (const auto allocation = record->as<AllocationRecord>()) alive.insert(allocation->allocation);
    if (const auto string = record->as<StringRecord>())
      text = text || (string->id == name && record->text() == "gemm");
    device = device || record->as<DeviceRecord>().has_value();
  }
  EXPECT_EQ(alive, std::set<std::uint64_t>{7});
  EXPECT_TRUE(device);
  EXPECT_TRUE(text);
}

TEST_F(SpoolSeriesTest, ASizeLimitShortensTheTimeAndSaysSo) {
  auto writer = keep_last({.block_bytes = 4096, .size_limit = 300'000});
  for (std::uint64_t number = 0; number < 40'000; ++number) {
    writer->append(FreeRecord{.time_ns = SpoolWriter::now_ns(), .allocation = number});
    if (number % 400 == 0) writer->flush();
  }
  writer->close();
  std::uintmax_t bytes = 0;
  int told = 0;
  for (const std::string& file : files()) {
    bytes += fs::file_size(file);
    SpoolReader reader(file);
    while (const auto record = reader.next()) {
      const auto loss = record->as<LossRecord>();
      if (loss && !reader.block().repeats) told += loss->reason == LossReason::kSizeLimit ? 1 : 0;
    }
    EXPECT_EQ(reader.status()->state, SpoolState::kClosed);
  }
  EXPECT_LT(bytes, 330'000u);
  EXPECT_LE(told, 1);
  SpoolReader last(files().back());
  bool repeated = false;
  while (const auto record = last.next()) repeated = repeated || record->as<LossRecord>().has_value();
  EXPECT_TRUE(repeated);
}

TEST_F(SpoolSeriesTest, WithoutATimeThereIsOneFileOfNoSeries) {
  std::string error;
  auto writer = SpoolWriter::open_in(directory_ / "", {.source = SpoolSource::kRuntime}, &error);
  for (std::uint64_t number = 0; number < 60; ++number) note(*writer, number);
  writer->close();
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(SpoolReader(files()[0]).header().series, 0u);
}

}  // namespace
}  // namespace tferry::trace
