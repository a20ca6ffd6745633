#include "gui/paint/scene.hpp"
#include "gui/paint/timeline_painter.hpp"

#include <QImage>
#include <gtest/gtest.h>

namespace tferry::gui {
namespace {

/// One group with a stream and a thread whose ranges are nested two deep; a nanosecond a pixel.
Scene scene() {
  auto overview = std::make_shared<Overview>();
  overview->range = {0, 1000};
  Lane stream, markers;
  stream.title = QStringLiteral("Stream 7");
  markers.kind = LaneKind::kMarkers;
  markers.rows = 2;
  overview->lanes = {stream, markers};
  overview->groups = {{QStringLiteral("GPU 0"), {0, 1}}};
  const auto item = [](std::int64_t id, std::int64_t from, std::int64_t to, int row) {
    Item made;
    made.id = id;
    made.start_ns = from;
    made.end_ns = to;
    made.row = static_cast<std::uint8_t>(row);
    return made;
  };
  auto picture = std::make_shared<Picture>();
  auto kernels = std::make_shared<Slice>(), ranges = std::make_shared<Slice>();
  kernels->items = {item(1, 100, 200, 0), item(2, 300, 301, 0)};
  ranges->items = {item(3, 100, 400, 0), item(4, 150, 200, 1)};
  picture->slices = {kernels, ranges};
  Scene made;
  made.names = std::make_shared<const NameBook>();
  made.layout = TimelineLayout(*overview, {});
  made.time = TimeMap(overview->range, 1000).showing({0, 1000});
  made.overview = overview;
  made.picture = picture;
  return made;
}

struct Point {
  const char* what;
  int x, lane, row;
  std::int64_t id;  ///< 0: no event
};

class HitTest : public ::testing::TestWithParam<Point> {};

TEST_P(HitTest, TellsWhatIsThere) {
  const Scene made = scene();
  const TimelineLayout::Strip* strip = made.layout.of_lane(GetParam().lane);
  const int height = row_height(made.overview->lanes[static_cast<std::size_t>(GetParam().lane)]);
  const Hit hit = hit_test(made, kTitleWidth + GetParam().x,
                           kAxisHeight + strip->y + GetParam().row * height + height / 2);
  EXPECT_EQ(hit.lane, GetParam().lane);
  EXPECT_EQ(hit.row, GetParam().row);
  EXPECT_EQ(hit.item ? hit.item->id : 0, GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(Points, HitTest,
                         ::testing::Values(Point{"inside", 150, 0, 0, 1}, Point{"between", 250, 0, 0, 0},
                                           Point{"besideNarrow", 303, 0, 0, 2},
                                           Point{"outerRange", 350, 1, 0, 3},
                                           Point{"innerRange", 160, 1, 1, 4},
                                           Point{"belowNothing", 350, 1, 1, 0}),
                         [](const auto& test) { return std::string(test.param.what); });

TEST(HitTestTest, HeadsTitlesAndEmptySpace) {
  const Scene made = scene();
  EXPECT_EQ(hit_test(made, 400, kAxisHeight + 3).lane, -1);
  EXPECT_EQ(hit_test(made, 400, kAxisHeight + 3).group, 0);
  EXPECT_EQ(hit_test(made, 400, 5).group, -1);
  EXPECT_EQ(hit_test(made, 400, 5000).group, -1);
  const Hit title = hit_test(made, 20, kAxisHeight + made.layout.of_lane(0)->y + 3);
  EXPECT_TRUE(title.on_title);
  EXPECT_EQ(title.lane, 0);
  EXPECT_EQ(title.item, nullptr);
}

TEST(HitTestTest, TheHeadStaysWhileItsLanesPass) {
  Scene made = scene();
  const TimelineLayout::Strip last = *made.layout.of_lane(1);
  EXPECT_FALSE(made.layout.head_at(0)) << "it is in its own place";
  made.scroll = last.y;
  EXPECT_EQ(made.layout.head_at(made.scroll)->y, made.scroll);
  EXPECT_EQ(hit_test(made, 20, kAxisHeight + 3).group, 0);
  EXPECT_EQ(hit_test(made, 20, kAxisHeight + 3).lane, -1);
  EXPECT_EQ(hit_test(made, 20, kAxisHeight + kGroupHeight + 3).lane, 1);
  made.scroll = last.y + last.height - 10;
  EXPECT_LT(made.layout.head_at(made.scroll)->y, made.scroll) << "pushed away by the next one";
  EXPECT_FALSE(made.layout.head_at(last.y + last.height));
}

TEST(HitTestTest, AFoldedGroupHasNoLanes) {
  Scene made = scene();
  made.layout = TimelineLayout(*made.overview, {0});
  EXPECT_EQ(made.layout.of_lane(0), nullptr);
  EXPECT_EQ(made.layout.strips().size(), 1u);
}

class PaintTest : public ::testing::Test {
 protected:
  static QImage painted(const Scene& scene) {
    QImage image(kTitleWidth + 1000, 160, QImage::Format_RGB32);
    QPainter painter(&image);
    paint_timeline(painter, scene, image.size());
    return image;
  }
  static QColor at(const QImage& image, const Scene& scene, int x) {
    return image.pixelColor(kTitleWidth + x, kAxisHeight + scene.layout.of_lane(0)->y + 4);
  }
};

TEST_F(PaintTest, EventsHaveTheColourOfTheirNameAndGapsThatOfTheBackground) {
  const Scene made = scene();
  const QImage image = painted(made);
  EXPECT_EQ(at(image, made, 150), made.theme.kernels[0]);
  EXPECT_EQ(at(image, made, 250), made.theme.background);
  EXPECT_NE(at(image, made, 300), made.theme.background);
}

TEST_F(PaintTest, WhatDoesNotMatchASearchIsDimmed) {
  Scene made = scene();
  made.matching = {77};
  EXPECT_NE(at(painted(made), made, 150), made.theme.kernels[0]);
}

TEST_F(PaintTest, ADarkFrameIsDark) {
  Scene made = scene();
  made.theme = Theme::dark_one();
  EXPECT_LT(at(painted(made), made, 600).lightness(), 60);
}

}  // namespace
}  // namespace tferry::gui
