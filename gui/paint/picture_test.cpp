// Pictures of whole pages against those in tests/gui/pictures/, with tolerance: other fonts are no failure, a
// lane that is missing, moved or of another colour is. TFERRY_REMAKE_PICTURES=1 makes them anew; look at them
// before they are committed.
#include "gui/app/screenshot.hpp"
#include "gui/paint/chart_painter.hpp"
#include "gui/paint/timeline_painter.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/session/open_session.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"

#include <QFileInfo>
#include <QImage>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace tferry::gui {
namespace {

constexpr int kShrink = 4;            // what is kept is smaller than what is painted
constexpr int kBlock = 4;             // pixels of it that are compared as one: letters become grey
constexpr double kMean = 3;           // of 255, over all blocks and colours
constexpr int kFar = 40;              // a block that differs so much is another one
constexpr double kMostOthers = 0.01;  // share of blocks

QImage blocks(const QImage& picture) {
  return picture
      .scaled(picture.width() / kBlock, picture.height() / kBlock, Qt::IgnoreAspectRatio,
              Qt::SmoothTransformation)
      .convertToFormat(QImage::Format_RGB32);
}

bool similar(const QImage& left, const QImage& right) {
  if (left.size() != right.size()) return false;
  const QImage a = blocks(left), b = blocks(right);
  double sum = 0;
  int others = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
      const int difference =
          (std::abs(qRed(p) - qRed(q)) + std::abs(qGreen(p) - qGreen(q)) + std::abs(qBlue(p) - qBlue(q))) / 3;
      sum += difference;
      others += difference > kFar ? 1 : 0;
    }
  }
  const double count = static_cast<double>(a.width()) * a.height();
  return sum / count <= kMean && others / count <= kMostOthers;
}

QImage shrunk(const QImage& image) {
  return image.scaled(image.width() / kShrink, image.height() / kShrink, Qt::IgnoreAspectRatio,
                      Qt::SmoothTransformation);
}

class PictureTest : public ::testing::Test {
 protected:
  void open(const std::string& path) {
    session_ = OpenSession::open(path);
    scene_ = Scene();
    scene_.overview = session_->overview;
    scene_.names = session_->names;
    scene_.layout = TimelineLayout(*scene_.overview, {});
    scene_.time = TimeMap(scene_.overview->range, lanes_width(kSize.width()));
    scene_.picture =
        session_->reader->read(scene_.time.visible(), scene_.time.ns_per_pixel(), {},
                               scene_.layout.tensors_between(*scene_.overview, 0, kSize.height()));
  }
  QImage page() const {
    QImage image(kSize, QImage::Format_RGB32);
    QPainter painter(&image);
    paint_page(painter, scene_, kSize);
    painter.end();
    return shrunk(image);
  }
  static void expect(const QImage& painted, const char* name) {
    const QString file = QStringLiteral(TFERRY_PICTURES "/") + QString::fromUtf8(name);
    if (std::getenv("TFERRY_REMAKE_PICTURES")) painted.save(file, "PNG");
    const QImage kept(file);
    ASSERT_FALSE(kept.isNull()) << file.toStdString();
    const bool same = similar(painted, kept);
    if (!same) painted.save(QStringLiteral("painted-") + QString::fromUtf8(name), "PNG");
    EXPECT_TRUE(same) << "what was painted is in painted-" << name;
  }

  static constexpr QSize kSize{1200, 640};
  std::unique_ptr<OpenSession> session_;
  Scene scene_;
};

TEST_F(PictureTest, AGoldenSession) {
  open(TFERRY_GOLDEN_SESSION);
  expect(page(), "golden.png");
  scene_.theme = Theme::dark_one();
  expect(page(), "golden-dark.png");
}

TEST_F(PictureTest, ContentionWithArrows) {
  open(contended_session());
  const FoundEvent window = contention_window(session_->session, *session_->overview, 2'000'000);
  scene_.selected = window.event;
  scene_.selected_lane = window.lane;
  scene_.focus = window.range;
  scene_.relations = find_relations(session_->session, *session_->names, *session_->overview, window.event);
  ASSERT_EQ(scene_.relations.size(), 2u);
  scene_.time = scene_.time.framing(window.range);
  expect(page(), "contention.png");
}

TEST_F(PictureTest, PlanAndWhatBecameOfIt) {
  open(planned_session());
  expect(page(), "planned.png");
}

TEST_F(PictureTest, WaterfallOfARun) {
  open(planned_session());
  const std::vector<cli::Table> tables = report_waterfall(cli::Scope(session_->session, {}));
  QImage image(QSize(800, 200), QImage::Format_RGB32);
  QPainter painter(&image);
  paint_waterfall(painter, Theme::light(), tables.front(), image.rect());
  painter.end();
  expect(shrunk(image), "waterfall.png");
}

TEST_F(PictureTest, WhatIsMissingIsNotTolerated) {
  open(TFERRY_GOLDEN_SESSION);
  const QImage all = page();
  const Overview& overview = *scene_.overview;
  auto picture = std::make_shared<Picture>(*scene_.picture);
  for (std::size_t lane = 0; lane < overview.lanes.size(); ++lane) {
    if (overview.lanes[lane].kind == LaneKind::kMemory)
      picture->slices[lane] = std::make_shared<const Slice>();
  }
  scene_.picture = picture;
  EXPECT_FALSE(similar(page(), all)) << "without its memory";
  EXPECT_TRUE(similar(all, all));
}

}  // namespace
}  // namespace tferry::gui
