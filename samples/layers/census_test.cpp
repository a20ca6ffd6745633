#include "samples/layers/census.hpp"

#include <gtest/gtest.h>

namespace tferry::samples {
namespace {

// Three layers of 4 MiB. Kernels: 7 fills of weights and biases; in each of 3 iterations 1 fill, 3 forward,
// 1 by the table, 1 + 3 * 2 + 2 backward, 1 checksum; 7 checksums at the end.
TEST(Census, CountsWhatTheScheduleAsksFor) {
  const LayersOptions options{.buffers = 8, .mib = 4, .iterations = 3};
  const KnownWork known = count_work(options, {.clears_sums = true, .least_table = 24});
  constexpr std::int64_t kMib = 1 << 20;
  EXPECT_EQ(known.kernels, 7 + 3 * 15 + 7);
  EXPECT_EQ(known.host_to_device, (Tally{1 + 3, 32 + 3 * kMib}));  // the table, a quarter of an activation
  EXPECT_EQ(known.device_to_device, (Tally{3 * 2, 6 * kMib}));     // two copies behind layer 0
  EXPECT_EQ(known.device_to_host, (Tally{3 + 7, 160}));
  EXPECT_EQ(known.memsets, (Tally{3 + 10, 3 * kMib + 160}));
  constexpr std::int64_t kSmall = 4096 + 8192 + 16384 + 4096;
  EXPECT_EQ(known.allocations, (Tally{1 + 1 + 7 + 3 * 8, 16 + 32 + 12 * kMib + kSmall + 3 * 32 * kMib}));
  EXPECT_EQ(known.frees, (Tally{7 + 3 * 8, 12 * kMib + kSmall + 3 * 32 * kMib}));
}

TEST(Census, ATableWithoutWeightsStillTakesWhatTheProgramGivesIt) {
  LayersOptions options{.buffers = 8, .mib = 4, .iterations = 1, .hidden = 0};
  const KnownWork table_of_24 = count_work(options, {.least_table = 24}), plain = count_work(options, {});
  EXPECT_EQ(table_of_24.allocations.bytes, plain.allocations.bytes + 8);
  EXPECT_EQ(table_of_24.host_to_device, plain.host_to_device);
}

TEST(Census, IsPrintedLineByLine) {
  KnownWork known;
  known.kernels = 7;
  known.memsets = {2, 32};
  EXPECT_TRUE(to_text(known).starts_with("known kernel 7\nknown memcpy host_to_device 0 of 0 bytes\n"))
      << to_text(known);
  EXPECT_NE(to_text(known).find("\nknown memset 2 of 32 bytes\n"), std::string::npos);
}

}  // namespace
}  // namespace tferry::samples
