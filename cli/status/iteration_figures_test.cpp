#include "cli/status/iteration_figures.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

/// `count` iterations of 50 operations, 1 ms each; the first two fetch much more than the others.
OperationLog training(int count) {
  OperationLog log;
  std::int64_t now = 0;
  for (int iteration = 0; iteration < count; ++iteration) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      const bool moves = i == 10;
      const std::uint32_t kib = iteration < 2 ? 9999 : 256;
      log.entries.push_back({now, 1000 + i, 0, static_cast<std::uint16_t>(moves ? 1 : 0), moves ? kib : 0,
                             moves ? kib / 2 : 0});
      now += 1'000'000;
    }
  }
  return log;
}

TEST(IterationFigures, AreMediansAfterTheFirstTwo) {
  const auto figures = measure_iterations(training(10), 0);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->operations, 50u);
  EXPECT_EQ(figures->measured + 2, figures->found);
  EXPECT_EQ(figures->fetched_bytes, 256 * 1024);
  EXPECT_EQ(figures->parked_bytes, 128 * 1024);
  EXPECT_EQ(figures->gated_operations, 1);
  EXPECT_EQ(figures->time_ns, 50'000'000);
}

TEST(IterationFigures, NothingIsLeftOutWhereTheBeginningIsLost) {
  OperationLog log = training(10);
  log.lost = 1;
  const auto figures = measure_iterations(log, 0);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->measured, figures->found);
}

TEST(IterationFigures, AnotherDevicesOperationsDoNotCount) {
  EXPECT_FALSE(measure_iterations(training(10), 1));
}

TEST(IterationFigures, ALogThatDoesNotAccountForWhatWasMovedLeavesItUnknown) {
  const auto figures = measure_iterations(training(10), 0, {1LL << 40, 22'000'000});
  ASSERT_TRUE(figures);
  EXPECT_FALSE(figures->parked_bytes);
  EXPECT_TRUE(figures->fetched_bytes);
}

TEST(IterationFigures, NoPeriodNoFigures) {
  OperationLog log;
  EXPECT_FALSE(measure_iterations(log, 0));
  for (std::uint32_t i = 0; i < 1000; ++i) log.entries.push_back({i, i * 2654435761u, 0, 0, 0, 0});
  EXPECT_FALSE(measure_iterations(log, 0));
}

}  // namespace
}  // namespace tferry::cli
