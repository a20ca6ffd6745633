#include "gui/time/time_map.hpp"

#include "gui/time/time_text.hpp"

#include <gtest/gtest.h>

namespace tferry::gui {
namespace {

constexpr TimeRange kSession{1'000'000'000, 3'000'000'000};

TEST(TimeMapTest, ShowsAllOfTheSessionAtFirst) {
  const TimeMap map(kSession, 1000);
  EXPECT_LE(map.visible().from_ns, kSession.from_ns);
  EXPECT_GE(map.visible().to_ns, kSession.to_ns);
}

TEST(TimeMapTest, PixelsAndTimesAreEachOthersInverse) {
  const TimeMap map = TimeMap(kSession, 800).showing({1'500'000'000, 1'500'008'000});
  for (const double x : {0.0, 1.0, 400.0, 799.0}) EXPECT_NEAR(map.x_of(map.time_at(x)), x, 0.1);
  EXPECT_DOUBLE_EQ(map.ns_per_pixel(), 10);
}

TEST(TimeMapTest, ZoomingKeepsWhatIsUnderThePointer) {
  TimeMap map(kSession, 1000);
  const std::int64_t under = map.time_at(730);
  for (int i = 0; i < 20; ++i) map = map.zoomed(0.7, 730);
  EXPECT_NEAR(static_cast<double>(map.time_at(730)), static_cast<double>(under), map.ns_per_pixel());
}

TEST(TimeMapTest, NothingZoomsOrMovesOutOfTheSession) {
  TimeMap map(kSession, 1000);
  for (int i = 0; i < 100; ++i) map = map.zoomed(2, 0);
  EXPECT_LE(map.visible().length(), kSession.length() * 12 / 10);
  for (int i = 0; i < 200; ++i) map = map.zoomed(0.5, 500);
  EXPECT_GE(map.visible().length(), 9);
  map = TimeMap(kSession, 1000).zoomed(0.1, 500);
  for (int i = 0; i < 100; ++i) map = map.moved(1000);
  EXPECT_GE(map.visible().to_ns, kSession.to_ns);
  EXPECT_LT(map.visible().from_ns, kSession.to_ns);
}

TEST(TimeMapTest, ASessionOfOneMomentCanBeShown) {
  const TimeMap map({5, 5}, 100);
  EXPECT_GT(map.ns_per_pixel(), 0);
  EXPECT_GT(map.zoomed(0.1, 3).ns_per_pixel(), 0);
}

TEST(TimeTextTest, IsWhatAPersonReads) {
  const auto plain = [](QString text) { return text.replace(QChar(0x202f), QLatin1Char(' ')).toStdString(); };
  EXPECT_EQ(plain(duration_text(789)), "789 ns");
  EXPECT_EQ(plain(duration_text(12'340)), "12.3 µs");
  EXPECT_EQ(plain(duration_text(1'234'000'000)), "1.23 s");
  EXPECT_EQ(plain(bytes_text(1.5 * 1024 * 1024)), "1.50 MiB");
  EXPECT_EQ(plain(rate_text(55.3e9)), "55.3 GB/s");
  EXPECT_EQ(plain(moment_text(1'200'000'000, 1e6)), "1.200 s");
}

TEST(TicksTest, AreRoundTimesAfterTheOriginAndFarEnoughApart) {
  const TimeMap map = TimeMap(kSession, 1000).showing({1'400'000'000, 1'600'000'000});
  const Ticks ticks = ticks_of(map, 900'000'000, 100);
  ASSERT_GE(ticks.times.size(), 3u);
  EXPECT_EQ(ticks.step_ns, 20'000'000);
  for (const std::int64_t time : ticks.times) EXPECT_EQ((time - 900'000'000) % ticks.step_ns, 0);
  EXPECT_GE(map.x_of(ticks.times[1]) - map.x_of(ticks.times[0]), 100);
}

}  // namespace
}  // namespace tferry::gui
