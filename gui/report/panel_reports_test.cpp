// Sessions in, the panels that only the window has out.
#include "gui/report/panel_reports.hpp"

#include "cli/failure.hpp"
#include "cli/report/compare_report.hpp"
#include "cli/report/render.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/session_maker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tferry::gui {
namespace {

using ::testing::HasSubstr;

/// Rows of a table as "a|b|c" lines, numbers plain.
std::string plain(const cli::Table& table) { return cli::render({table}, cli::Format::kCsv, ""); }

std::vector<cli::Table> report(const std::string& path, const std::string& name) {
  trace::Session session = trace::Session::open(path);
  return find_panel_report(name).make(cli::Scope(session, {}));
}

/// Two GPUs that slow each other, with a bound of 3 ms in memory for the first.
std::string contended_with_bound() {
  static const trace::TestDirectory directory;
  const std::string path = directory / "bound.tferry";
  if (std::filesystem::exists(path)) return path;
  std::filesystem::copy_file(contended_session(), path);
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute(
          "INSERT INTO bound (process_id, device_id, budget_bytes, bound_ns, in_memory_ns, resource, "
          "link_known_by) "
          "VALUES (1, 1, 1000, 4000000, 3000000, 'link_in', 'assumed')");
  return path;
}

TEST(PanelReportsTest, HoldAllReportsAndTheirOwn) {
  for (const char* name : {"summary", "memory", "kernels", "transfers", "tensors", "contention", "matrix",
                           "plan", "late", "curve", "waterfall", "advice"})
    EXPECT_EQ(find_panel_report(name).name, std::string(name));
  EXPECT_THROW(find_panel_report("none"), cli::Failure);
}

TEST(WaterfallTest, ThePartsAddUpToWhatWasMeasured) {
  const std::vector<cli::Table> tables = report(planned_session(), "waterfall");
  ASSERT_EQ(tables.size(), 2u) << "the run, then the plan";
  EXPECT_EQ(
      plain(tables[0]),
      "part,time,of_all,adds_up_to,how,known_by\n"
      "in memory,8000000,0.6666666666666666,8000000,its kernels alone,measured\n"
      "forced bytes,1000000,0.08333333333333333,9000000,the bound: no plan moves less or sooner,simulated\n"
      "late fetches,1000000,0.08333333333333333,10000000,waits for memory beyond what the bound "
      "forces,measured\n"
      "contention,,,10000000,unknown: the copies have not been analyzed; run tferry analyze,unknown\n"
      "off plan,0,0,10000000,timed are the iterations that followed the plan: 2 of 2,measured\n"
      "overhead,2000000,0.16666666666666666,12000000,\"what is left: the runtime, the plan's own waits, and "
      "whatever is unknown above\",measured\n"
      "measured,12000000,1,12000000,all parts together,measured\n");
}

TEST(WaterfallTest, IterationsThatLeftThePlanMakeTheMeanLonger) {
  const trace::TestDirectory directory;
  const std::string path = directory / "off.tferry";
  std::filesystem::copy_file(planned_session(), path);
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute(
          "INSERT INTO meta VALUES ('off_plan.iterations', '1'), ('off_plan.iteration_ns', '20000000'), "
          "('on_plan.iterations', '3')");
  const std::string parts = plain(report(path, "waterfall").at(0));
  EXPECT_THAT(parts, HasSubstr("off plan,2000000,"));
  EXPECT_THAT(parts, HasSubstr("1 of 4 timed iterations left the plan"));
  EXPECT_THAT(parts, HasSubstr("measured,14000000,1,14000000,all parts together"));
}

TEST(WaterfallTest, WithoutARunThePlanIsToldAsSimulated) {
  const std::vector<cli::Table> tables = report(analyzed_golden(), "waterfall");
  ASSERT_EQ(tables.size(), 2u) << "the recording, then the plan";
  EXPECT_EQ(tables[0].rows.back().known_by, cli::KnownBy::kMeasured);
  EXPECT_EQ(tables[1].rows.back().known_by, cli::KnownBy::kSimulated);
  EXPECT_THAT(tables[0].notes.at(0), HasSubstr("tferry run --plan"));
}

TEST(WaterfallTest, ARecordingHasOneOfItsOwnIterations) {
  const std::string recorded = plain(report(contended_with_bound(), "waterfall").at(0));
  EXPECT_THAT(recorded, HasSubstr("forced bytes,0,0,"));
  EXPECT_THAT(recorded, HasSubstr("transfers lost it to others while no kernel ran,measured"));
  EXPECT_THAT(recorded, HasSubstr("all parts together,measured"));
}

TEST(LateTest, TellsPlannedAndActualMovementsByTensor) {
  const std::vector<cli::Table> tables = report(planned_session(), "late");
  EXPECT_EQ(plain(tables[0]),
            "tensor,evictions,fetches,late,fetched,waited,known_by\nlayer1.weight,2,2,1,134217728,2000000,"
            "measured\n");
  EXPECT_EQ(plain(tables[1]),
            "tensor,fetches,bytes,first_wanted_after,known_by\nlayer1.weight,1,67108864,4000000,simulated\n");
}

TEST(CurveTest, TellsTheTimeByBudgetAndWhichPlansThereAre) {
  const std::vector<cli::Table> tables = report(analyzed_golden(), "curve");
  ASSERT_GE(tables.size(), 2u);
  ASSERT_GE(tables[0].rows.size(), 5u);
  double before = 0;
  for (const cli::Row& row : tables[0].rows) {  // from the largest budget on
    const double bound = std::get<double>(row.cells[3].value);
    EXPECT_GE(bound, before);
    EXPECT_GE(std::get<double>(row.cells[5].value), bound * 0.999) << "no plan is faster than the bound";
    before = bound;
  }
  EXPECT_THAT(tables[0].notes.at(0), HasSubstr("at most 5 % longer"));
  EXPECT_THAT(plain(tables.back()), HasSubstr("plan,0,1,"));
}

TEST(CurveTest, WithoutAccessesItIsUnknown) {
  const std::vector<cli::Table> tables = report(contended_session(), "curve");
  EXPECT_TRUE(tables[0].rows.empty());
  ASSERT_FALSE(tables[0].notes.empty());
  EXPECT_THAT(tables[0].notes[0], HasSubstr("unknown"));
}

TEST(AdviceTest, RestsOnWhatTheSessionHas) {
  const std::string contended = plain(report(contended_session(), "advice")[0]);
  EXPECT_THAT(contended, HasSubstr("to GPU 1, at a link"));
  const std::string planned = plain(report(planned_session(), "advice")[0]);
  EXPECT_THAT(planned, HasSubstr("makes an iteration 25 % longer than in memory"));
  EXPECT_THAT(planned, HasSubstr("slower than predicted,\"an iteration of GPU 0 took 12"));
  EXPECT_THAT(planned, HasSubstr("same results"));
  const trace::TestDirectory directory;
  SessionMaker(directory / "raw.tferry").kernel("k", 0, 1).publish();
  EXPECT_THAT(plain(report(directory / "raw.tferry", "advice")[0]),
              HasSubstr("tferry analyze --oversubscribe 1.5"));
}

TEST(MemoryTest, IsToldByModuleWhereTheProgramNamedIt) {
  const trace::TestDirectory directory;
  const std::string path = directory / "named.tferry";
  write_planned_session(path);
  EXPECT_EQ(report(path, "memory").size(), 3u) << "the peak, by category, by size";
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute("INSERT INTO allocation_name VALUES (1, 'layers.1.weight', 'weight', 'pytorch')");
  const std::vector<cli::Table> tables = report(path, "memory");
  ASSERT_EQ(tables.size(), 4u);
  EXPECT_THAT(plain(tables[1]), HasSubstr("weight,67108864,1,1,measured"));
  EXPECT_THAT(plain(tables[2]), HasSubstr("weight,layers.1.weight"));
  EXPECT_THAT(plain(tables[3]), HasSubstr("weight,layers.1,67108864"));
}

TEST(CompareTest, SumsUpDifferencesPerIteration) {
  const trace::TestDirectory directory;
  const std::string path = directory / "slower.tferry";
  write_planned_session(path);
  trace::Database(path, trace::Database::Mode::kReadWrite)
      .execute(
          "UPDATE kernel SET end_ns = end_ns + 500000 WHERE name_id = (SELECT id FROM string WHERE value = "
          "'forward'); DELETE FROM gate");
  trace::Session above = trace::Session::open(planned_session()), below = trace::Session::open(path);
  const std::vector<cli::Table> tables = cli::compare_sessions(cli::Scope(above, {}), cli::Scope(below, {}));
  ASSERT_EQ(tables.size(), 2u);
  const std::string by_gpu = plain(tables[0]);
  EXPECT_THAT(by_gpu, HasSubstr("0,time in kernels,8000000,8500000,500000,0.0625,ns,measured"));
  EXPECT_THAT(by_gpu, HasSubstr("0,waits for memory,1000000,0,-1000000,-1,ns,measured"));
  EXPECT_THAT(by_gpu, HasSubstr("0,copied to the GPU,67108864,67108864,0,0,bytes,measured"));
  EXPECT_THAT(plain(tables[1]), HasSubstr("\nforward,1,1,4000000,4500000,500000,measured\nbackward,1,1,"));
}

}  // namespace
}  // namespace tferry::gui
