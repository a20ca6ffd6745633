// How sessions come into the window, and what of it is kept between starts.
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/window_fixture.hpp"

#include <QApplication>
#include <QDropEvent>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QUrl>

namespace tferry::gui {
namespace {

QUrl file(const std::string& path) { return QUrl::fromLocalFile(QString::fromStdString(path)); }

class DropTest : public MainWindowTest {
 protected:
  void drop(const QList<QUrl>& urls) {
    QMimeData data;
    data.setUrls(urls);
    const QPoint where(400, 300);
    QDragEnterEvent enter(where, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &enter);
    ASSERT_TRUE(enter.isAccepted());
    QDropEvent dropped(where, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window_, &dropped);
    ASSERT_TRUE(soon([&] { return window_.view()->overview() && window_.is_settled(); }));
  }
};

TEST_F(DropTest, AFileIsOpened) {
  window_.show();
  drop({file(planned_session())});
  EXPECT_EQ(window_.view()->overview()->path.toStdString(), planned_session());
}

TEST_F(DropTest, ASecondOneGoesBelowAndIsCompared) {
  window_.show();
  drop({file(analyzed_golden()), file(planned_session())});
  EXPECT_EQ(window_.view()->overview()->path.toStdString(), analyzed_golden());
  EXPECT_TRUE(soon([&] { return window_.is_settled() && !window_.front_panel()->views().empty(); }));
  EXPECT_TRUE(soon([&] { return window_.front_panel()->views().front()->model()->rowCount() > 0; }));
}

/// A window as a person has it, with settings of the test's own.
class KeptTest : public ::testing::Test {
 protected:
  KeptTest() { QSettings().clear(); }
  ~KeptTest() override { QSettings().clear(); }

  static QAction* action(const MainWindow& window, const QString& text) {
    for (QAction* action : window.findChildren<QAction*>()) {
      if (action->text() == text) return action;
    }
    return nullptr;
  }
};

TEST_F(KeptTest, RecentFilesSizeAndColours) {
  {
    MainWindow first(Options{});
    first.show();
    first.open(QString::fromStdString(planned_session()));
    ASSERT_TRUE(soon([&] { return first.view()->overview() && first.is_settled(); }));
    first.resize(1111, 777);
    ASSERT_NE(action(first, QStringLiteral("Colours: dark")), nullptr);
    action(first, QStringLiteral("Colours: dark"))->trigger();
    first.close();
  }
  MainWindow second(Options{});
  second.show();
  EXPECT_EQ(second.size(), QSize(1111, 777));
  EXPECT_LT(second.view()->timeline()->scene().theme.background.lightness(), 100);
  QAction* recent = action(second, QString::fromStdString(planned_session()));
  ASSERT_NE(recent, nullptr) << "in the menu of recent files";
  recent->trigger();
  EXPECT_TRUE(soon([&] { return second.view()->overview() && second.is_settled(); }));
}

}  // namespace
}  // namespace tferry::gui
