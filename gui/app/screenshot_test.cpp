// Pictures without a window: what is written, and what is refused.
#include "gui/app/screenshot.hpp"

#include "cli/failure.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/session_maker.hpp"

#include <QImage>
#include <QXmlStreamReader>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tferry::gui {
namespace {

class ScreenshotTest : public ::testing::Test {
 protected:
  /// The file that these options make of the planned session.
  std::string write(const std::string& name) {
    options_.screenshot = directory_ / name;
    write_screenshot(options_, planned_session());
    return options_.screenshot;
  }
  std::string failure(const std::string& name) {
    try {
      write(name);
    } catch (const cli::Failure& failure) {
      return failure.what();
    }
    return "written";
  }

  trace::TestDirectory directory_;
  Options options_;
};

TEST_F(ScreenshotTest, APngHasTheSizeThatIsAskedFor) {
  options_.size = QSize(640, 400);
  const QImage image(QString::fromStdString(write("out.png")));
  EXPECT_EQ(image.size(), QSize(640, 400));
}

TEST_F(ScreenshotTest, WithoutASizeItIsAsHighAsAllLanes) {
  const QImage image(QString::fromStdString(write("out.png")));
  EXPECT_EQ(image.width(), 1920);
  EXPECT_GT(image.height(), 200);
}

TEST_F(ScreenshotTest, AnSvgIsWellFormedAndHasTheNames) {
  options_.size = QSize(1200, 500);
  const std::string text = trace::slurp(write("out.svg"));
  QXmlStreamReader xml(QByteArray::fromStdString(text));
  while (!xml.atEnd()) xml.readNext();
  EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  EXPECT_THAT(text, ::testing::HasSubstr("Evictions and fetches"));
  EXPECT_THAT(text, ::testing::HasSubstr("backward"));
}

TEST_F(ScreenshotTest, DarkIsDark) {
  options_.size = QSize(300, 300);
  options_.theme = "dark";
  EXPECT_LT(QColor(QImage(QString::fromStdString(write("out.png"))).pixel(150, 2)).lightness(), 60);
}

TEST_F(ScreenshotTest, AComparedSessionIsBelowTheFirst) {
  const int alone = QImage(QString::fromStdString(write("alone.png"))).height();
  options_.compare = planned_session();
  EXPECT_EQ(QImage(QString::fromStdString(write("both.png"))).height(), 2 * alone);
}

TEST_F(ScreenshotTest, WhatIsThereIsNotOverwritten) {
  trace::spew(directory_ / "there.png", "mine");
  EXPECT_NE(failure("there.png"), "written");
  EXPECT_EQ(trace::slurp(directory_ / "there.png"), "mine");
  options_.force = true;
  EXPECT_EQ(failure("there.png"), "written");
}

TEST_F(ScreenshotTest, OtherKindsAndRangesWithoutEventsAreRefused) {
  EXPECT_THAT(failure("out.jpg"), ::testing::HasSubstr("neither .png nor .svg"));
  options_.from = "100s";
  EXPECT_THAT(failure("out.png"), ::testing::HasSubstr("nothing of the session lies there"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out.png"));
}

}  // namespace
}  // namespace tferry::gui
