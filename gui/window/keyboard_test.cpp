// The keyboard alone suffices: every part is reached, and everything that a mouse does is done by keys.
#include "gui/report/panel_reports.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/window_fixture.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QMenuBar>
#include <QTabBar>

#include <set>

namespace tferry::gui {
namespace {

class KeyboardTest : public MainWindowTest {
 protected:
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : timeline(),
                    static_cast<Qt::Key>(key), modifiers);
    ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  }
  /// All that Tab reaches from the timeline on.
  std::set<const QWidget*> reached() {
    std::set<const QWidget*> seen;
    timeline()->setFocus();
    for (int i = 0; i < 200; ++i) {
      const QWidget* now = window_.focusWidget();
      if (now && !seen.insert(now).second && now == timeline()) break;
      QTest::keyClick(window_.focusWidget(), Qt::Key_Tab);
    }
    return seen;
  }
};

TEST_F(KeyboardTest, TabReachesEveryPart) {
  open(analyzed_golden());
  window_.activateWindow();
  ReportPanel* panel = report("curve");
  ASSERT_TRUE(soon([&] { return panel->chart() && panel->chart()->isVisible(); }));
  const std::set<const QWidget*> seen = reached();
  for (const QWidget* part :
       {static_cast<const QWidget*>(timeline()), static_cast<const QWidget*>(window_.search_line()),
        static_cast<const QWidget*>(window_.tensor_line()), static_cast<const QWidget*>(window_.details()),
        static_cast<const QWidget*>(panel->filter()), static_cast<const QWidget*>(panel->chart()),
        static_cast<const QWidget*>(panel->views().front())})
    EXPECT_TRUE(seen.contains(part)) << part->accessibleName().toStdString();
  panel->filter()->setFocus();
  QTest::keyClick(panel->filter(), Qt::Key_Tab);
  EXPECT_EQ(window_.focusWidget(), panel->chart()) << "from the filter into what it filters";
}

TEST_F(KeyboardTest, EveryReportIsInAMenu) {
  std::set<QString> named;
  for (const QAction* menu : window_.menuBar()->actions()) {
    for (const QAction* action : menu->menu()->actions()) named.insert(action->text());
  }
  for (const cli::ReportKind& kind : panel_reports())
    EXPECT_TRUE(named.contains(QString::fromUtf8(kind.name)));
}

TEST_F(KeyboardTest, AllGpusFoldAtOnceAndLeaveWhatIsAcrossThem) {
  open(contended_session());
  timeline()->setFocus();
  const std::set<int> before = timeline()->scene().folded;
  press(Qt::Key_Space, Qt::ShiftModifier);
  int heads = 0, bands = 0;
  for (const TimelineLayout::Strip& strip : timeline()->scene().layout.strips()) {
    heads += strip.lane < 0;
    if (strip.lane < 0) continue;
    const Lane& lane = timeline()->scene().overview->lanes[static_cast<std::size_t>(strip.lane)];
    EXPECT_EQ(lane.kind, LaneKind::kContention) << lane.title.toStdString();
    ++bands;
  }
  EXPECT_EQ(heads, static_cast<int>(timeline()->scene().overview->groups.size()));
  EXPECT_GT(bands, 0);
  press(Qt::Key_Space, Qt::ShiftModifier);
  EXPECT_EQ(timeline()->scene().folded, before);
}

TEST_F(KeyboardTest, GroupsFoldAndUnfold) {
  open(analyzed_golden());
  const int height = timeline()->scene().layout.height();
  key(Qt::Key_Down);
  key(Qt::Key_Space);
  EXPECT_LT(timeline()->scene().layout.height(), height) << "the group of the lane is folded";
  key(Qt::Key_Space);
  EXPECT_EQ(timeline()->scene().layout.height(), height);
  for (int i = 0; i < 40; ++i) key(Qt::Key_Down);  // to the last head, which is folded
  key(Qt::Key_Return);
  EXPECT_GT(timeline()->scene().layout.height(), height) << "the tensors";
}

TEST_F(KeyboardTest, WhatIsBetweenTwoEventsIsMeasured) {
  open(planned_session());
  for (int i = 0; i < 3 && timeline()->scene().selected.id == 0; ++i) {
    key(Qt::Key_Down);
    key(Qt::Key_Return);
    ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  }
  const TimeRange first = *timeline()->scene().focus;
  key(Qt::Key_M);
  key(Qt::Key_BracketLeft);
  key(Qt::Key_M);
  const TimeRange second = *timeline()->scene().focus;
  ASSERT_TRUE(timeline()->scene().measured);
  EXPECT_EQ(timeline()->scene().measured->from_ns, std::min(first.from_ns, second.from_ns));
  EXPECT_EQ(timeline()->scene().measured->to_ns, std::max(first.to_ns, second.to_ns));
}

TEST_F(KeyboardTest, AReportIsSortedFilteredAndCopied) {
  open(contended_session());
  ReportPanel* panel = report("kernels");
  EXPECT_TRUE(panel->filter()->hasFocus());
  ReportTable* table = panel->views().front();
  table->setFocus();
  table->setCurrentIndex(table->model()->index(0, 0));
  QTest::keyClick(table, Qt::Key_Down, Qt::AltModifier);
  EXPECT_EQ(table->horizontalHeader()->sortIndicatorSection(), 0);
  EXPECT_EQ(table->horizontalHeader()->sortIndicatorOrder(), Qt::DescendingOrder);
  QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QLatin1String("name,")))
      << QApplication::clipboard()->text().toStdString();
}

TEST_F(KeyboardTest, TheSelectedEventIsCopiedAndItsRelationsAreFollowed) {
  open(planned_session());
  ReportPanel* panel = report("late");
  panel->views().front()->setCurrentIndex(panel->views().front()->model()->index(0, 0));
  timeline()->setFocus();
  const Overview& overview = *window_.view()->overview();
  for (int i = 0; i < 20; ++i) {
    key(Qt::Key_Down);
    const int lane = timeline()->scene().selected_lane;
    if (lane >= 0 && overview.lanes[static_cast<std::size_t>(lane)].kind == LaneKind::kMoves) break;
  }
  key(Qt::Key_Return);
  ASSERT_TRUE(soon([&] { return !window_.view()->relations().empty(); }));
  QTest::keyClick(timeline(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().contains(QLatin1String("layer1.weight")));
  key(Qt::Key_K);
  ASSERT_TRUE(soon([&] { return window_.view()->selection().event.table == EventTable::kPlanAction; }))
      << "back to what the plan wanted";
  ASSERT_TRUE(soon([&] { return !window_.view()->relations().empty(); }));
  key(Qt::Key_J);
  ASSERT_TRUE(soon([&] { return window_.view()->selection().event.table == EventTable::kSwap; }));
}

TEST_F(KeyboardTest, ADotOfTheCurveIsChosen) {
  open(analyzed_golden());
  ReportPanel* panel = report("curve");
  ASSERT_TRUE(soon([&] { return panel->chart() && !panel->chart()->dots().empty(); }));
  QTest::keyClick(panel->chart(), Qt::Key_Right);
  EXPECT_FALSE(panel->chart()->accessibleDescription().isEmpty());
  QTest::keyClick(panel->chart(), Qt::Key_Return);
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "plan");
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
}

TEST_F(KeyboardTest, LettersGoToTheirLines) {
  open(analyzed_golden());
  window_.activateWindow();
  timeline()->setFocus();
  QTest::keyClicks(timeline(), QStringLiteral("/"));
  EXPECT_TRUE(window_.search_line()->hasFocus());
  QTest::keyClick(window_.search_line(), Qt::Key_Escape);
  EXPECT_TRUE(timeline()->hasFocus());
  QTest::keyClicks(timeline(), QStringLiteral("t"));
  EXPECT_TRUE(window_.tensor_line()->hasFocus());
}

}  // namespace
}  // namespace tferry::gui
