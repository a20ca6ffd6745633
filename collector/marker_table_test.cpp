#include "collector/marker_table.hpp"

#include "collector/testing/record_builder.hpp"

#include <gtest/gtest.h>

namespace tferry::collector {
namespace {

constexpr auto kStart = CUPTI_ACTIVITY_FLAG_MARKER_START;
constexpr auto kEnd = CUPTI_ACTIVITY_FLAG_MARKER_END;

TEST(MarkerTableTest, StartAndEndMakeARange) {
  MarkerTable table;
  EXPECT_FALSE(table.add(marker_activity(1, 100, kStart), {}, 11, 22));
  const auto range = table.add(marker_activity(1, 250, kEnd), {}, 0, 0);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->kind, trace::MarkerKind::kRange);
  EXPECT_EQ(range->time_ns, 100);
  EXPECT_EQ(range->end_ns, 250);
  EXPECT_EQ(range->name, 11u);
  EXPECT_EQ(range->domain, 22u);
  EXPECT_EQ(range->thread, 9u);
  EXPECT_TRUE(table.take_open().empty());
  EXPECT_EQ(table.lost(), 0);
}

TEST(MarkerTableTest, AnEndThatArrivesBeforeItsStartIsTheSameRange) {
  MarkerTable table;
  EXPECT_FALSE(table.add(marker_activity(5, 900, kEnd), {}, 0, 0));
  const auto range = table.add(marker_activity(5, 700, kStart), {}, 3, 0);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->time_ns, 700);
  EXPECT_EQ(range->end_ns, 900);
  EXPECT_EQ(range->name, 3u);
}

TEST(MarkerTableTest, MarksAreInstants) {
  MarkerTable table;
  const auto mark = table.add(marker_activity(1, 44, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS), {}, 8, 0);
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->kind, trace::MarkerKind::kInstant);
  EXPECT_EQ(mark->end_ns, 44);
}

TEST(MarkerTableTest, RangesThatNeverEndAreOpenAndEndsWithoutStartAreLost) {
  MarkerTable table;
  table.add(marker_activity(2, 300, kStart), {}, 2, 0);
  table.add(marker_activity(1, 200, kStart), {}, 1, 0);
  table.add(marker_activity(3, 400, kEnd), {}, 0, 0);
  const auto open = table.take_open();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].name, 1u);
  EXPECT_EQ(open[1].name, 2u);
  EXPECT_EQ(open[0].kind, trace::MarkerKind::kOpenRange);
  EXPECT_EQ(open[0].end_ns, 0);
  EXPECT_EQ(table.lost(), 1);
}

TEST(MarkerTableTest, KeepsNoMoreHalvesThanItsLimit) {
  MarkerTable table(2);
  for (std::uint32_t id = 1; id <= 5; ++id) table.add(marker_activity(id, id, kStart), {}, id, 0);
  EXPECT_EQ(table.lost(), 3);
  EXPECT_EQ(table.take_open().size(), 2u);
}

TEST(MarkerTableTest, AnIdUsedAgainWhileOpenCostsTheFirstRange) {
  MarkerTable table;
  table.add(marker_activity(1, 10, kStart), {}, 1, 0);
  table.add(marker_activity(1, 20, kStart), {}, 2, 0);
  const auto range = table.add(marker_activity(1, 30, kEnd), {}, 0, 0);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->name, 2u);
  EXPECT_EQ(table.lost(), 1);
}

}  // namespace
}  // namespace tferry::collector
