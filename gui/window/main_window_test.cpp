#include "gui/window/main_window.hpp"

#include "gui/model/report_filter.hpp"
#include "gui/model/report_model.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/session_maker.hpp"
#include "gui/testing/window_fixture.hpp"
#include "gui/window/key_help.hpp"

#include <QAbstractItemModelTester>
#include <QAbstractProxyModel>
#include <QStatusBar>
#include <QTest>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace tferry::gui {
namespace {

constexpr const char* kGolden = TFERRY_GOLDEN_SESSION;

TEST_F(MainWindowTest, KeysZoomAndMove) {
  open(kGolden);
  const TimeRange all = timeline()->visible();
  key(Qt::Key_W);
  const TimeRange nearer = timeline()->visible();
  EXPECT_LT(nearer.length(), all.length());
  key(Qt::Key_D);
  EXPECT_GT(timeline()->visible().from_ns, nearer.from_ns);
  key(Qt::Key_A);
  EXPECT_NEAR(static_cast<double>(timeline()->visible().from_ns), static_cast<double>(nearer.from_ns), 100);
  key(Qt::Key_Home);
  EXPECT_EQ(timeline()->visible(), all);
}

TEST_F(MainWindowTest, TheLaneAndItsEventsAreReachedByKeys) {
  open(kGolden);
  key(Qt::Key_Down);
  ASSERT_GE(timeline()->scene().selected_lane, 0);
  key(Qt::Key_Return);
  ASSERT_TRUE(soon([&] { return timeline()->scene().selected.id != 0; }));
  const TimeRange first = *timeline()->scene().focus;
  key(Qt::Key_BracketRight);
  ASSERT_TRUE(soon([&] { return timeline()->scene().focus->from_ns > first.from_ns; }));
  key(Qt::Key_F);
  EXPECT_LT(timeline()->visible().length(), 10 * timeline()->scene().focus->length() + 100);
  key(Qt::Key_Escape);
  EXPECT_EQ(timeline()->scene().selected.id, 0);
  EXPECT_TRUE(window_.view()->facts().facts.empty()) << "what is beside the timeline is dropped with it";
}

TEST_F(MainWindowTest, PGoesToTheMemoryPeak) {
  open(kGolden);
  key(Qt::Key_W);
  key(Qt::Key_P);
  const std::int64_t peak = timeline()->scene().picture->memory_peak_ns;
  EXPECT_TRUE(timeline()->visible().contains(peak));
}

TEST_F(MainWindowTest, DraggingMeasures) {
  open(kGolden);
  QWidget* viewport = timeline()->viewport();
  QTest::mousePress(viewport, Qt::LeftButton, {}, QPoint(400, 200));
  QTest::mouseMove(viewport, QPoint(500, 200));
  QMouseEvent move(QEvent::MouseMove, QPointF(500, 200), viewport->mapToGlobal(QPointF(500, 200)),
                   Qt::NoButton, Qt::LeftButton, {});
  QApplication::sendEvent(viewport, &move);
  QTest::mouseRelease(viewport, Qt::LeftButton, {}, QPoint(500, 200));
  ASSERT_TRUE(timeline()->scene().measured);
  EXPECT_NEAR(static_cast<double>(timeline()->scene().measured->length()),
              100 * timeline()->scene().time.ns_per_pixel(), 10);
}

TEST_F(MainWindowTest, AClickOnAHeadFoldsItsGroup) {
  open(kGolden);
  const int height = timeline()->scene().layout.height();
  QTest::mouseClick(timeline()->viewport(), Qt::LeftButton, {}, QPoint(300, kAxisHeight + 8));
  EXPECT_LT(timeline()->scene().layout.height(), height);
}

TEST_F(MainWindowTest, SearchSelectsAndTheReportFollows) {
  open(kGolden);
  window_.show_panel(QStringLiteral("kernels"));
  window_.search_line()->setText(QStringLiteral("layer_norm_grad"));
  QTest::keyClick(window_.search_line(), Qt::Key_Return);
  ASSERT_TRUE(soon([&] { return window_.view()->facts().title.contains(QLatin1String("layer_norm_grad")); }));
  ASSERT_TRUE(soon([&] { return !window_.front_panel()->views().empty(); }));
  EXPECT_TRUE(window_.front_panel()->select_row(window_.view()->facts().title));
  EXPECT_GT(window_.details()->rowCount(), 3);
  EXPECT_TRUE(window_.front_panel()->selected_csv().contains(QLatin1String("layer_norm_grad")));
}

/// Sorts and filters each table of a report under the tester.
void test_models(const ReportPanel& panel) {
  for (ReportTable* view : panel.views()) {
    QAbstractItemModelTester tester(view->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    const auto* filter = qobject_cast<const QAbstractProxyModel*>(view->model());
    QAbstractItemModelTester source(filter->sourceModel(),
                                    QAbstractItemModelTester::FailureReportingMode::Fatal);
    view->sortByColumn(0, Qt::DescendingOrder);
    panel.filter()->setText(QStringLiteral("a"));
    panel.filter()->clear();
  }
}

TEST_F(MainWindowTest, EveryReportHasAPanelThatHoldsToTheRulesOfModels) {
  for (const std::string& path : {analyzed_golden(), planned_session()}) {
    open(path);
    for (const cli::ReportKind& kind : panel_reports()) {
      ReportPanel* panel = report(kind.name);
      ASSERT_EQ(panel->name().toStdString(), kind.name);
      test_models(*panel);
      for (const ReportTable* view : panel->views())
        EXPECT_FALSE(view->csv(false).isEmpty()) << kind.name << " has nothing to copy";
    }
  }
  window_.open_below(QString::fromStdString(planned_session()));
  ASSERT_TRUE(soon([&] { return window_.panel(QStringLiteral("compare"))->views().size() == 2; }));
  test_models(*window_.panel(QStringLiteral("compare")));
}

TEST_F(MainWindowTest, TheSelectedEventIsAModelToo) {
  open(planned_session());
  QAbstractItemModelTester tester(window_.details()->model(),
                                  QAbstractItemModelTester::FailureReportingMode::Fatal);
  key(Qt::Key_Down);
  key(Qt::Key_Down);  // the stream
  key(Qt::Key_Return);
  ASSERT_TRUE(soon([&] { return window_.details()->rowCount() > 2; }));
  EXPECT_TRUE(window_.details()->csv().startsWith(QLatin1String("name,value\nevent,")));
  key(Qt::Key_Escape);
  EXPECT_EQ(window_.details()->csv().toStdString(), "");
}

TEST_F(MainWindowTest, AWindowOfTheRankedListIsJumpedToAndItsRowMarked) {
  open(contended_session());
  window_.show_panel(QStringLiteral("contention"));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->views().size() == 3; }));
  ReportTable* list = window_.front_panel()->views()[2];
  ASSERT_EQ(list->model()->rowCount(), 6);
  Q_EMIT list->activated(list->model()->index(4, 0));
  ASSERT_TRUE(soon([&] { return window_.view()->facts().title == QLatin1String("Contention"); }));
  const TimeRange window = window_.view()->selection().range;
  EXPECT_EQ(window.from_ns - window_.view()->overview()->origin_ns,
            list->model()->index(4, 0).data(ReportModel::kPlain).toLongLong());
  EXPECT_EQ(timeline()->visible().length(), 3 * window.length());
  EXPECT_TRUE(list->selectionModel()->isRowSelected(4));
  ASSERT_TRUE(soon([&] { return window_.view()->relations().size() == 2; })) << "the copies that lost";
  key(Qt::Key_K);
  ASSERT_TRUE(soon([&] { return window_.view()->selection().event.table == EventTable::kMemcpy; }));
  ASSERT_TRUE(soon([&] { return window_.view()->relations().size() == 1; })) << "the copy that slowed it";
}

TEST_F(MainWindowTest, AClickOnADotOfTheCurveShowsThatPlan) {
  open(analyzed_golden());
  window_.show_panel(QStringLiteral("curve"));
  ReportPanel* panel = window_.front_panel();
  ASSERT_TRUE(soon([&] { return panel->chart() && !panel->chart()->dots().empty(); }));
  const ChartDot plan = panel->chart()->dots().back();
  ASSERT_EQ(plan.plan, 1);
  QTest::mouseClick(panel->chart(), Qt::LeftButton, {}, plan.place.toPoint());
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "plan");
}

TEST_F(MainWindowTest, APointOfTheCurveWithoutAPlanHasOneMade) {
  open(analyzed_golden());
  ReportPanel* panel = report("curve");
  ASSERT_TRUE(soon([&] { return panel->chart() && !panel->chart()->dots().empty(); }));
  ReportTable* table = panel->views().front();
  Q_EMIT table->activated(table->model()->index(3, 0));
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "plan");
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  const QString csv = window_.front_panel()->views().front()->csv(false);
  EXPECT_TRUE(csv.contains(table->cells(3).value(QStringLiteral("budget")))) << csv.toStdString();
  EXPECT_EQ(window_.front_panel()->views().size(), 2u) << "the plan, and what it moves";
}

TEST_F(MainWindowTest, WhyATensorMovesIsAskedFromItsRowAndItsLane) {
  open(analyzed_golden());
  ReportTable* tensors = report("tensors")->views().front();
  const QString name = tensors->tensor(0);
  ASSERT_FALSE(name.isEmpty());
  tensors->setCurrentIndex(tensors->model()->index(0, 0));
  QTest::keyClick(tensors, Qt::Key_X);
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "why");
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  ASSERT_TRUE(timeline()->show_tensor(name));
  EXPECT_EQ(timeline()->selected_tensor().toStdString(), name.toStdString());
  window_.show_panel(QStringLiteral("summary"));
  key(Qt::Key_X);
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "why");
}

TEST_F(MainWindowTest, AllTensorsHaveALaneAndAFilterFindsThem) {
  open(analyzed_golden());
  const Overview& overview = *window_.view()->overview();
  const auto tensors = static_cast<std::int64_t>(
      std::count_if(overview.lanes.begin(), overview.lanes.end(),
                    [](const Lane& lane) { return lane.kind == LaneKind::kTensor; }));
  trace::Session session = trace::Session::open(analyzed_golden());
  EXPECT_EQ(tensors, session.count<trace::TensorRow>());
  ASSERT_GT(tensors, 100);
  const auto shown = [&] {
    std::int64_t count = 0;
    for (const auto& strip : timeline()->scene().layout.strips())
      count +=
          strip.lane >= 0 && overview.lanes[static_cast<std::size_t>(strip.lane)].kind == LaneKind::kTensor;
    return count;
  };
  EXPECT_EQ(shown(), 0) << "folded at first";
  window_.tensor_line()->setText(QStringLiteral("154389504 bytes #2"));
  EXPECT_EQ(shown(), 1);
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  const int lane = timeline()->scene().selected_lane;
  EXPECT_FALSE(timeline()->scene().picture->slices[static_cast<std::size_t>(lane)]->items.empty())
      << "it is read";
  window_.tensor_line()->clear();
  EXPECT_EQ(shown(), tensors);
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  std::int64_t read = 0;
  for (std::size_t i = 0; i < overview.lanes.size(); ++i)
    read +=
        overview.lanes[i].kind == LaneKind::kTensor && !timeline()->scene().picture->slices[i]->items.empty();
  EXPECT_LT(read, 200) << "only what is about in sight";
}

TEST_F(MainWindowTest, AClickOnTheBudgetShowsTheCurve) {
  const std::string path = directory_ / "budget.tferry";
  SessionMaker(path).allocation(1 << 20, 0, 900).kernel("k", 0, 1000).publish();
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute("UPDATE device SET budget_bytes = 2097152");
  open(path);
  const Scene& scene = timeline()->scene();
  for (const auto& strip : scene.layout.strips()) {
    if (strip.lane < 0 ||
        scene.overview->lanes[static_cast<std::size_t>(strip.lane)].kind != LaneKind::kMemory)
      continue;
    const double share = 1 / 1.12;  // the budget is the highest of it
    const int y = kAxisHeight + strip.y + static_cast<int>((1 - share) * (strip.height - 1));
    QTest::mouseClick(timeline()->viewport(), Qt::LeftButton, {}, QPoint(600, y));
  }
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "curve");
}

TEST_F(MainWindowTest, TheStatusBarTellsWhatIsOpen) {
  open(kGolden);
  EXPECT_FALSE(window_.statusBar()->currentMessage().contains(QLatin1String("Opening")));
  EXPECT_TRUE(window_.statusBar()->currentMessage().contains(QLatin1String("events in")));
}

TEST_F(MainWindowTest, ReportsThatTakeLongShowTheirShareAndAreCancelled) {
  open(analyzed_golden());
  window_.show_panel(QStringLiteral("curve"));
  ASSERT_TRUE(soon([&] {
    window_.progress()->look();
    return window_.progress()->isVisible() && window_.progress()->percent() > 0;
  }));
  EXPECT_EQ(window_.progress()->text().toStdString(), "Report curve");
  window_.progress()->cancel();
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
  EXPECT_TRUE(window_.panel(QStringLiteral("curve"))->views().empty()) << "cancelled";
  window_.show_panel(QStringLiteral("curve"));
  ASSERT_TRUE(soon([&] { return !window_.panel(QStringLiteral("curve"))->views().empty(); })) << "made again";
}

TEST_F(MainWindowTest, AdviceLeadsToThePanelThatItNames) {
  open(planned_session());
  ReportTable* advice = report("advice")->views().front();
  for (int row = 0; row < advice->model()->rowCount(); ++row) {
    if (advice->cells(row).value(QStringLiteral("what to do")).contains(QLatin1String("panel curve")))
      Q_EMIT advice->activated(advice->model()->index(row, 0));
  }
  EXPECT_EQ(window_.front_panel()->name().toStdString(), "curve");
}

TEST_F(MainWindowTest, DifferencesFromTheSessionBelowAreSummedUp) {
  open(planned_session());
  window_.open_below(QString::fromStdString(planned_session()));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->name() == QLatin1String("compare"); }));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->views().size() == 2; }));
}

TEST_F(MainWindowTest, AFetchThatWasWaitedForIsMarked) {
  open(planned_session());
  std::string late;
  const Overview& overview = *window_.view()->overview();
  for (std::size_t lane = 0; lane < overview.lanes.size(); ++lane) {
    if (overview.lanes[lane].kind != LaneKind::kMoves) continue;
    for (const Item& item : timeline()->scene().picture->slices[lane]->items)
      late += item.late() ? "late " : "- ";
  }
  EXPECT_EQ(late, "- late - - ");
}

TEST_F(MainWindowTest, ASessionThatIsWrittenAnewIsFollowedFromWhereItIsShown) {
  const std::string path = directory_ / "s.tferry";
  SessionMaker(path).kernel("k", 0, 1000).publish();
  open(path);
  key(Qt::Key_W);
  const TimeRange before = timeline()->visible();
  SessionMaker(directory_ / "longer.tferry").kernel("k", 0, 1000).kernel("k", 1000, 9000).publish();
  std::filesystem::rename(directory_ / "longer.tferry", path);
  ASSERT_TRUE(soon([&] { return window_.view()->overview() && window_.view()->overview()->events == 2; }));
  EXPECT_EQ(timeline()->visible().length(), before.length());
  ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
}

TEST_F(MainWindowTest, ASessionThatIsNotThereYetIsOpenedOnceItIs) {
  const std::string path = directory_ / "s.tferry";
  open(path);
  ASSERT_TRUE(window_.view()->has_failed());
  SessionMaker(path).kernel("k", 0, 1000).publish();
  ASSERT_TRUE(soon([&] { return window_.view()->overview() && !window_.view()->has_failed(); }));
}

TEST_F(MainWindowTest, ARecordingThatGrowsIsFollowed) {
  // Instead of tferry merge, which has tests of its own: takes what lies ready.
  const std::string merge = directory_ / "merge", spools = directory_ / "spools";
  trace::spew(merge, "#!/bin/sh\ncp \"$2/ready\" \"$4.new\" && mv \"$4.new\" \"$4\"\n");
  std::filesystem::permissions(merge, std::filesystem::perms::owner_all);
  std::filesystem::create_directory(spools);
  trace::spew(spools + "/spool.7.runtime.1", "a");
  SessionMaker(spools + "/ready").kernel("k", 0, 10).publish();
  window_.show();
  window_.spools().follow(QString::fromStdString(spools), QString::fromStdString(merge));
  const auto shows = [&](std::int64_t events) {
    return soon([&] { return window_.view()->overview() && window_.view()->overview()->events == events; });
  };
  ASSERT_TRUE(shows(1));
  std::filesystem::remove(spools + "/ready");
  SessionMaker(spools + "/ready").kernel("k", 0, 10).kernel("k", 10, 20).publish();
  trace::spew(spools + "/spool.7.runtime.1", "aa");
  ASSERT_TRUE(shows(2));
  EXPECT_TRUE(SpoolFollower::is_recording(QString::fromStdString(spools)));
  EXPECT_FALSE(SpoolFollower::is_recording(QString::fromStdString(spools + "/ready")));
  window_.spools().stop();
}

TEST_F(MainWindowTest, ACellOfTheMatrixLeadsToItsWorstWindow) {
  open(contended_session());
  window_.show_panel(QStringLiteral("matrix"));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->views().size() == 1; }));
  ReportTable* matrix = window_.front_panel()->views()[0];
  EXPECT_TRUE(matrix->model()->index(0, 2).data(Qt::BackgroundRole).isValid());
  EXPECT_FALSE(matrix->model()->index(0, 1).data(Qt::BackgroundRole).isValid()) << "nothing lost to itself";
  Q_EMIT matrix->activated(matrix->model()->index(0, 2));
  ASSERT_TRUE(soon([&] { return window_.view()->facts().title == QLatin1String("Contention"); }));
}

TEST(ReportModelTest, SortsByPlainValuesWithUnknownOnesLast) {
  auto tables = std::make_shared<std::vector<cli::Table>>();
  cli::Table table("t", "T", {{"name"}, {"time", cli::Unit::kNanoseconds}});
  table.add(cli::KnownBy::kMeasured, {"slow", std::int64_t{2'000'000}});
  table.add(cli::KnownBy::kUnknown, {"unknown", cli::Cell()});
  table.add(cli::KnownBy::kMeasured, {"fast", std::int64_t{900}});
  tables->push_back(table);
  ReportModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.set_table(tables, 0);
  ReportFilter filter;
  filter.setSourceModel(&model);
  for (const auto& [order, expected] :
       {std::pair(Qt::AscendingOrder, "fast slow unknown "), {Qt::DescendingOrder, "slow fast unknown "}}) {
    filter.sort(1, order);
    std::string names;
    for (int row = 0; row < filter.rowCount(); ++row)
      names += filter.index(row, 0).data().toString().toStdString() + " ";
    EXPECT_EQ(names, expected);
  }
  EXPECT_EQ(model.csv({2}).toStdString(), "name,time,known_by\nfast,900,measured\n");
}

TEST_F(MainWindowTest, TwoSessionsAreComparedBelowEachOther) {
  open(kGolden);
  window_.open_below(QString::fromUtf8(kGolden));
  ASSERT_TRUE(soon([&] { return window_.below()->overview() && window_.is_settled(); }));
  key(Qt::Key_W);
  EXPECT_EQ(window_.below()->timeline()->visible(), timeline()->visible());
}

TEST_F(MainWindowTest, FirstIterationsAreBelowEachOtherAlsoWhereOneSessionBeginsLater) {
  const std::string path = directory_ / "later.tferry";
  write_planned_session(path);
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute("UPDATE iteration SET start_ns = start_ns + 9000000 WHERE number = 0");
  open(planned_session());
  window_.open_below(QString::fromStdString(path));
  ASSERT_TRUE(soon([&] { return window_.below()->overview() && window_.is_settled(); }));
  const auto first = [](const SessionView& view) {
    for (const Lane& lane : view.overview()->lanes) {
      if (lane.kind == LaneKind::kIterations) return view.timeline()->scene().time.x_of(lane.first_ns);
    }
    return 0.0;
  };
  EXPECT_NEAR(first(*window_.view()), first(*window_.below()), 2);
}

TEST(KeyHelpTest, NamesEveryKeyOfTheTimeline) {
  for (const char* key : {"W  S", "A  D", "F", "Home", "[  ]", "P", "/", "?"})
    EXPECT_TRUE(KeyHelp::text().contains(QString::fromUtf8(key))) << key;
}

}  // namespace
}  // namespace tferry::gui
