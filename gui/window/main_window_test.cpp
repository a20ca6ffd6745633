#include "gui/window/main_window.hpp"

#include "gui/app/key_script.hpp"
#include "gui/app/screenshot.hpp"
#include "gui/model/report_filter.hpp"
#include "gui/model/report_model.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/session_maker.hpp"
#include "gui/window/key_help.hpp"

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <QFile>
#include <QImage>
#include <QTest>
#include <gtest/gtest.h>

#include <filesystem>

namespace tferry::gui {
namespace {

constexpr const char* kGolden = TFERRY_GOLDEN_SESSION;

Options scripted() {
  Options options;
  options.size = QSize(1400, 900);
  options.keys = "test";  // nothing of the user's settings is read or written
  return options;
}

template <typename Condition>
bool soon(Condition&& condition) {
  return QTest::qWaitFor(condition, 20'000);
}

class MainWindowTest : public ::testing::Test {
 protected:
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

  MainWindow window_{scripted()};
  trace::TestDirectory directory_;
};

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

TEST_F(MainWindowTest, EveryReportHasAPanelThatHoldsToTheRulesOfModels) {
  open(kGolden);
  for (const char* name : {"summary", "kernels", "transfers", "memory", "tensors", "quality", "plan",
                           "contention", "matrix", "causes", "links", "idle"}) {
    window_.show_panel(QString::fromUtf8(name));
    ReportPanel* panel = window_.front_panel();
    ASSERT_EQ(panel->name().toStdString(), name);
    ASSERT_TRUE(soon([&] { return window_.is_settled(); }));
    for (QTableView* view : panel->views()) {
      QAbstractItemModelTester tester(view->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
      view->sortByColumn(0, Qt::DescendingOrder);
      panel->filter()->setText(QStringLiteral("a"));
      panel->filter()->clear();
    }
  }
}

TEST_F(MainWindowTest, AWindowOfTheRankedListIsJumpedToAndItsRowMarked) {
  open(contended_session());
  window_.show_panel(QStringLiteral("contention"));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->views().size() == 3; }));
  QTableView* list = window_.front_panel()->views()[2];
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

TEST(OpenSessionTest, OpeningIsGivenUpWhenItIsCancelled) {
  const trace::TestDirectory directory;
  SessionMaker maker(directory / "s.tferry");
  for (int i = 0; i < 20'000; ++i) maker.kernel("k", i, i + 1);
  maker.publish();
  const std::atomic<bool> cancelled = true;
  EXPECT_THROW(OpenSession::open(directory / "s.tferry", &cancelled), trace::SessionError);
  EXPECT_NO_THROW(OpenSession::open(directory / "s.tferry"));
}

TEST_F(MainWindowTest, ACellOfTheMatrixLeadsToItsWorstWindow) {
  open(contended_session());
  window_.show_panel(QStringLiteral("matrix"));
  ASSERT_TRUE(soon([&] { return window_.front_panel()->views().size() == 1; }));
  QTableView* matrix = window_.front_panel()->views()[0];
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

struct Trouble {
  const char* name;
  const char* message;
};

class TroubledSessionTest : public MainWindowTest, public ::testing::WithParamInterface<Trouble> {};

TEST_P(TroubledSessionTest, IsAMessageInTheWindow) {
  const std::string path = directory_ / "s.tferry";
  const std::string name = GetParam().name;
  SessionMaker(path).kernel("k", 0, 1).publish();
  std::unique_ptr<trace::Database> lock;
  if (name == "missing") std::filesystem::remove(path);
  if (name == "empty") trace::spew(path, "");
  if (name == "text") trace::spew(path, std::string(5000, 'x'));
  if (name == "truncated") std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  if (name == "newer")
    trace::Database(path, trace::Database::Mode::kReadWrite).execute("PRAGMA user_version=99");
  if (name == "locked") {
    lock = std::make_unique<trace::Database>(path, trace::Database::Mode::kReadWrite);
    lock->execute("BEGIN EXCLUSIVE");
  }
  open(path);
  EXPECT_TRUE(window_.view()->has_failed());
  EXPECT_TRUE(window_.view()->message().contains(QString::fromUtf8(GetParam().message)))
      << window_.view()->message().toStdString();
}

INSTANTIATE_TEST_SUITE_P(Sessions, TroubledSessionTest,
                         ::testing::Values(Trouble{"missing", "cannot open"}, Trouble{"empty", "is empty"},
                                           Trouble{"text", "not an SQLite database"},
                                           Trouble{"truncated", "truncated"},
                                           Trouble{"newer", "schema version 99"},
                                           Trouble{"locked", "wait until"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(MainWindowTest, ASessionWithoutEventsIsShownAsOne) {
  const std::string path = directory_ / "none.tferry";
  trace::SessionWriter::create(path).publish();
  open(path);
  EXPECT_FALSE(window_.view()->has_failed());
  EXPECT_TRUE(window_.view()->overview()->lanes.empty());
  key(Qt::Key_W);
  key(Qt::Key_P);
  key(Qt::Key_BracketRight);
}

TEST_F(MainWindowTest, TwoSessionsAreComparedBelowEachOther) {
  open(kGolden);
  window_.open_below(QString::fromUtf8(kGolden));
  ASSERT_TRUE(soon([&] { return window_.below()->overview() && window_.is_settled(); }));
  key(Qt::Key_W);
  EXPECT_EQ(window_.below()->timeline()->visible(), timeline()->visible());
}

TEST(KeyHelpTest, NamesEveryKeyOfTheTimeline) {
  for (const char* key : {"W  S", "A  D", "F", "Home", "[  ]", "P", "/", "?"})
    EXPECT_TRUE(KeyHelp::text().contains(QString::fromUtf8(key))) << key;
}

class TaskTest : public MainWindowTest, public ::testing::WithParamInterface<std::string> {};

/// The session that a script is about: its first line may name one, "# session: contended"; else the golden
/// one.
const std::string& session_of(const std::string& script) {
  const std::string text = trace::slurp(script);
  if (text.starts_with("# session: contended\n")) return contended_session();
  if (text.starts_with("# session: planned\n")) return planned_session();
  return analyzed_golden();
}

TEST_P(TaskTest, IsDoneInTheStepsThatAreAllowed) {
  const std::string file = std::string(TFERRY_TASKS) + "/" + GetParam() + ".keys";
  open(session_of(file));
  KeyScript script(window_, QString::fromStdString(file));
  bool finished = false;
  QObject::connect(&script, &KeyScript::finished, [&] { finished = true; });
  script.start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return finished; }, 60'000));
  EXPECT_EQ(script.failures().join(QLatin1Char('\n')).toStdString(), "");
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TFERRY_TASKS)) {
    if (entry.path().extension() == ".keys") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, TaskTest, ::testing::ValuesIn(task_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tferry::gui
