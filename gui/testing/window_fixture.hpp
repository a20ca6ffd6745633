#pragma once

#include "gui/window/main_window.hpp"
#include "trace/test_directory.hpp"

#include <QTest>
#include <gtest/gtest.h>

#include <string>

namespace tferry::gui {

template <typename Condition>
bool soon(Condition&& condition) {
  return QTest::qWaitFor(condition, 20'000);
}

/// A window in which nothing of the user's settings is read or written.
class MainWindowTest : public ::testing::Test {
 protected:
  static Options scripted() {
    Options options;
    options.size = QSize(1400, 900);
    options.keys = "test";
    return options;
  }
  void open(const std::string& path) {
    window_.show();
    window_.open(QString::fromStdString(path));
    ASSERT_TRUE(soon([&] {
      return window_.view()->has_failed() || (window_.view()->overview() && window_.is_settled());
    }));
  }
  TimelineView* timeline() { return window_.view()->timeline(); }
  void key(Qt::Key key) {
    QTest::keyClick(timeline(), key);
    ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  }
  /// Once its tables are there.
  ReportPanel* report(const char* name) {
    window_.show_panel(QString::fromUtf8(name));
    EXPECT_TRUE(soon([&] { return window_.is_settled(); }));
    return window_.front_panel();
  }

  MainWindow window_{scripted()};
  trace::TestDirectory directory_;
};

}  // namespace tferry::gui
