#include "collector/sampler/counter_writer.hpp"

#include "collector/sampler/nvml_source.hpp"
#include "collector/testing/spool_text.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace tferry::collector {
namespace {

class CounterWriterTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines() {
    writer_.flush();
    spool_->close();
    return spool_text(path_);
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "s";
  std::unique_ptr<trace::SpoolWriter> spool_ = trace::SpoolWriter::open(path_, {.block_count = 2});
  std::vector<std::string> counters_ = {"read", "write"};
  CounterWriter writer_ = CounterWriter(*spool_, 0, counters_, 1000);
};

TEST_F(CounterWriterTest, SamplesBecomeRecordsAtHostTime) {
  writer_.write({100, 200, {5, 6}}, 1000);
  EXPECT_EQ(lines(), (std::vector<std::string>{"counter read 1100..1200 5", "counter write 1100..1200 6"}));
}

TEST_F(CounterWriterTest, NeighbouringZerosBecomeOneRecord) {
  for (int i = 1; i <= 5; ++i) writer_.write({i * 100, i * 100 + 100, {0, i == 3 ? 7.0 : 0.0}}, 0);
  EXPECT_EQ(lines(), (std::vector<std::string>{"counter write 100..300 0", "counter write 300..400 7",
                                               "counter read 100..600 0", "counter write 400..600 0"}));
}

TEST_F(CounterWriterTest, ZerosWithAGapBetweenThemStayApart) {
  writer_.write({100, 200, {0, 1}}, 0);
  writer_.write({250, 350, {0, 1}}, 0);
  EXPECT_EQ(lines(), (std::vector<std::string>{"counter write 100..200 1", "counter read 100..200 0",
                                               "counter write 250..350 1", "counter read 250..350 0"}));
}

TEST_F(CounterWriterTest, ZerosAreHeldBackNoLongerThanTheLimit) {
  for (int i = 0; i < 25; ++i) writer_.write({100 + i * 100, 200 + i * 100, {0, 0}}, 0);
  for (const std::string& line : lines()) {
    EXPECT_TRUE(line.find("100..1100") != std::string::npos || line.find("1100..2100") != std::string::npos ||
                line.find("2100..2600") != std::string::npos)
        << line;
  }
}

TEST_F(CounterWriterTest, QuietSamplesOfSumsBecomeOneRecordWithTheirSum) {
  trace::TestDirectory directory;
  const std::string path = directory / "s";
  auto spool = trace::SpoolWriter::open(path, {.block_count = 2});
  const std::vector<std::string> counters = {"pcie__read_bytes.sum", "nvml.rate"};
  CounterWriter writer(*spool, 0, counters);
  // 40 bytes in a microsecond are 40 MB/s, 60 are not quiet any more; a rate cannot be summed.
  for (int i = 1; i <= 4; ++i) writer.write({i * 1000, i * 1000 + 1000, {i == 3 ? 60.0 : 40.0, 3.0}}, 0);
  writer.flush();
  spool->close();
  EXPECT_EQ(spool_text(path, "counter pcie"),
            (std::vector<std::string>{"counter pcie__read_bytes.sum 1000..3000 80",
                                      "counter pcie__read_bytes.sum 3000..4000 60",
                                      "counter pcie__read_bytes.sum 4000..5000 40"}));
  EXPECT_EQ(spool_text(path, "counter nvml").size(), 4u);
}

TEST_F(CounterWriterTest, ImpossibleTimesAreCounted) {
  writer_.write({200, 100, {1, 1}}, 0);
  writer_.write({0, 100, {1, 1}}, 0);
  EXPECT_EQ(writer_.bad_samples(), 2);
  EXPECT_TRUE(lines().empty());
}

RC_GTEST_PROP(CounterWriterTest_, NoTimeAndNoByteIsLost,
              (const std::vector<std::uint8_t>& values, bool sums_up)) {
  trace::TestDirectory directory;
  const std::string path = directory / "s";
  auto spool = trace::SpoolWriter::open(path, {.block_bytes = 65536, .block_count = 4});
  const std::vector<std::string> counters = {sums_up ? "c.sum" : "c"};
  CounterWriter writer(*spool, 0, counters, 700);  // up to 5 in 100 ns are quiet
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) * 100 + 100;
    const double value = values[i] % 3 == 0 ? 0 : values[i];
    sum += value;
    writer.write({at, at + 100, {value}}, 0);
  }
  writer.flush();
  spool->close();
  trace::SpoolReader reader(path);
  double found = 0;
  std::int64_t covered = 0;
  while (const auto record = reader.next()) {
    const auto counter = record->as<trace::CounterRecord>();
    if (!counter) continue;
    found += counter->value;
    covered += counter->end_ns - counter->time_ns;
  }
  RC_ASSERT(found == sum);
  RC_ASSERT(covered == static_cast<std::int64_t>(values.size()) * 100);
}

TEST(NvmlSourceTest, UuidsAreReadAsNvmlWritesThem) {
  std::uint8_t uuid[16] = {};
  ASSERT_TRUE(parse_uuid("GPU-0123abcd-4567-89ef-0011-ff2233445566", uuid));
  EXPECT_EQ(uuid[0], 0x01);
  EXPECT_EQ(uuid[3], 0xcd);
  EXPECT_EQ(uuid[10], 0xff);
  EXPECT_EQ(uuid[15], 0x66);
  EXPECT_FALSE(parse_uuid("MIG-0123abcd-4567-89ef-0011-ff2233445566", uuid));
  EXPECT_FALSE(parse_uuid("GPU-0123", uuid));
  EXPECT_FALSE(parse_uuid("GPU-0123abcd-4567-89ef-0011-ff22334455667", uuid));
  EXPECT_FALSE(parse_uuid("GPU-0123abcd-4567-89ef-0011-ff223344556z", uuid));
}

}  // namespace
}  // namespace tferry::collector
