#include "benchmarks/tferry_bench/statistics.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tferry::benchmarks {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_THROW(median({}), std::invalid_argument);
}

std::vector<double> up_to(int n) {
  std::vector<double> samples(static_cast<std::size_t>(n));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

// Ranks and coverages from the tables of the sign test.
TEST(Statistics, IntervalIsTheOneOfTheSignTest) {
  struct Row {
    int n;
    double low;
    double high;
    double coverage;
  };
  for (const Row& row :
       {Row{1, 1, 1, 0}, Row{5, 1, 5, 0.9375}, Row{6, 1, 6, 0.96875}, Row{8, 1, 8, 0.9921875},
        Row{9, 2, 8, 0.9609375}, Row{20, 6, 15, 0.958610534667968}}) {
    const Interval interval = median_interval(up_to(row.n));
    EXPECT_DOUBLE_EQ(interval.low, row.low) << row.n;
    EXPECT_DOUBLE_EQ(interval.high, row.high) << row.n;
    EXPECT_NEAR(interval.coverage, row.coverage, 1e-12) << row.n;
  }
}

RC_GTEST_PROP(Statistics, IntervalEnclosesTheMedianAndDoesNotDependOnTheOrder, (std::vector<int> numbers)) {
  RC_PRE(!numbers.empty());
  std::vector<double> samples(numbers.begin(), numbers.end());
  const Interval interval = median_interval(samples);
  RC_ASSERT(interval.low <= interval.median && interval.median <= interval.high);
  std::reverse(samples.begin(), samples.end());
  RC_ASSERT(median_interval(samples).low == interval.low);
  RC_ASSERT(samples.size() < 6 || interval.coverage >= 0.95);
}

}  // namespace
}  // namespace tferry::benchmarks
