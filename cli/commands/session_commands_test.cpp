// analyze, report, compare, query and merge as a user calls them: session in, command, expected text.
#include "cli/testing/layers_session.hpp"
#include "cli/testing/program_fixture.hpp"
#include "trace/spool_writer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace tferry::cli {
namespace {

using testing_support::contents;
using testing_support::Ended;
using testing_support::LayersSession;
namespace fs = std::filesystem;

class SessionCommandsTest : public testing_support::ProgramTest {
 protected:
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }

  /// The command must fail for our own reasons, with a remedy, and print nothing.
  void expect_failure(const std::string& line, const std::string& part) const {
    const Ended ended = sh(line);
    EXPECT_EQ(ended.exit_code(), 125) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told(part)) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told("tferry: what to do: ")) << line << "\n" << ended.err;
    EXPECT_EQ(ended.out, "") << line;
  }
};

TEST_F(SessionCommandsTest, AnalyzeFindsIterationsTensorsBoundAndPolicies) {
  LayersSession{.iterations = 12}.write(path("a.tferry"));
  const Ended ended = sh("$T analyze a.tferry --budget 18MiB");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("bound: no plan is faster")) << ended.out;
  EXPECT_TRUE(ended.printed("on-demand")) << ended.out;
  EXPECT_TRUE(ended.printed("lms-early")) << ended.out;
  EXPECT_TRUE(ended.printed("assumed")) << ended.out;
  EXPECT_TRUE(ended.told("stored in a.tferry")) << ended.err;
  const Ended tensors =
      sh("$T query 'SELECT count(*) AS n, sum(persistent) AS p FROM tensor' a.tferry --format csv");
  EXPECT_EQ(tensors.out, "n,p,known_by\n3,3,measured\n");
  EXPECT_EQ(sh("$T query 'SELECT count(*) FROM kernel' a.tferry --format tsv").out,
            "count(*)\tknown_by\n24\tmeasured\n");
}

TEST_F(SessionCommandsTest, AnalyzingAgainReplacesTheAnalysisAndLeavesTheRecordingAlone) {
  LayersSession{.iterations = 12}.write(path("a.tferry"));
  ASSERT_EQ(sh("$T analyze a.tferry --oversubscribe 1.4").exit_code(), 0);
  ASSERT_EQ(sh("$T analyze a.tferry --budget 20MiB --link h2d=50GB/s,d2h=40GB/s,duplex=70GB/s").exit_code(),
            0);
  const Ended bounds =
      sh("$T query 'SELECT budget_bytes, link_h2d_bytes_per_second FROM bound' a.tferry --format csv");
  EXPECT_EQ(bounds.out, "budget_bytes,link_h2d_bytes_per_second,known_by\n20971520,50000000000,measured\n");
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_EQ(entry.path().filename().string().find("analyzing"), std::string::npos) << "a draft was left";
  }
}

TEST_F(SessionCommandsTest, AnalysisIntoAnotherFileLeavesTheFirstAsItWas) {
  LayersSession{.iterations = 12}.write(path("a.tferry"));
  const std::string before = contents(root_ / "a.tferry");
  ASSERT_EQ(sh("$T analyze a.tferry --oversubscribe 1.4 -o b.tferry").exit_code(), 0);
  EXPECT_EQ(contents(root_ / "a.tferry"), before);
  EXPECT_TRUE(sh("$T report summary b.tferry").printed("simulated"));
  expect_failure("$T analyze a.tferry --oversubscribe 1.4 -o b.tferry", "b.tferry exists already");
}

TEST_F(SessionCommandsTest, AnalyzeRefusesWhatItCannotAnswer) {
  LayersSession{.iterations = 12, .hooked = false}.write(path("cupti.tferry"));
  expect_failure("$T analyze cupti.tferry --oversubscribe 1.5", "no footprint is known in cupti.tferry");
  LayersSession{}.write(path("a.tferry"));
  expect_failure("$T analyze a.tferry --oversubscribe 0", "--oversubscribe: 0 is no factor");
  expect_failure("$T analyze a.tferry --budget 0", "--budget");
  expect_failure("$T analyze a.tferry --budget 1GiB --oversubscribe 2", "excludes");
  expect_failure("$T analyze a.tferry --budget 1GiB --link h2d=55", "55 is no rate");
  expect_failure("$T analyze a.tferry --budget 1GiB --link up=55GB/s", "up=55GB/s is not understood");
  expect_failure("$T analyze a.tferry --budget 1GiB --link h2d=55GB/s", "does not give both directions");
  expect_failure("$T analyze a.tferry --budget 1GiB --link h2d=5GB/s,d2h=5GB/s,duplex=92GB/s", "duplex");
}

TEST_F(SessionCommandsTest, WithoutABudgetTheBoundIsUnknownAndSaysSo) {
  LayersSession{.iterations = 12}.write(path("a.tferry"));
  const Ended ended = sh("$T analyze a.tferry");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("unknown: bound: no budget; give --budget or --oversubscribe")) << ended.out;
}

TEST_F(SessionCommandsTest, WithoutASessionTheNewestHereIsTakenAndNamed) {
  expect_failure("$T report summary", "there is no session (*.tferry) in this folder");
  LayersSession{}.write(path("old.tferry"));
  LayersSession{}.write(path("new.tferry"));
  sh("touch -d '2 hours ago' old.tferry");
  const Ended ended = sh("$T report kernels");
  EXPECT_EQ(ended.exit_code(), 0);
  EXPECT_TRUE(ended.err.starts_with("tferry: session: new.tferry (the newest here)\n")) << ended.err;
  sh("touch -d '4 hours ago' new.tferry");
  EXPECT_TRUE(sh("$T analyze --budget 20MiB").err.starts_with("tferry: session: old.tferry"));
}

TEST_F(SessionCommandsTest, SeveralReportsInOneAnswerAndInAFile) {
  LayersSession{}.write(path("a.tferry"));
  const Ended ended = sh("$T report kernels a.tferry quality --format json --json copy.json");
  const auto json = nlohmann::json::parse(ended.out);
  EXPECT_EQ(json["tables"][0]["name"], "kernels");
  EXPECT_EQ(json["tables"][0]["rows"][0]["total"], 18'000);
  EXPECT_EQ(json["tables"][1]["name"], "quality");
  EXPECT_EQ(contents(root_ / "copy.json"), ended.out);
  expect_failure("$T report wheather a.tferry", "there is no report wheather");
  EXPECT_TRUE(sh("$T report memory --at peak --by category,module a.tferry")
                  .printed("Alive at the peak of GPU 0, by category and module"));
  expect_failure("$T report memory --at 1s a.tferry", "--at is for report memory --by");
  expect_failure("$T report memory --by colour a.tferry", "colour");
  expect_failure("$T report kernels a.tferry b.tferry", "a report is about one session");
  expect_failure("$T report kernels a.tferry --gpu 7", "has no GPU 7");
}

TEST_F(SessionCommandsTest, SessionsThatCannotBeReadAreToldApart) {
  LayersSession{}.write(path("a.tferry"));
  sh("head -c 20000 a.tferry > cut.tferry; touch empty.tferry; echo hello there, this is no database > "
     "text.tferry");
  sh("mkdir folder.tferry");
  expect_failure("$T report summary none.tferry", "cannot open session none.tferry");
  expect_failure("$T report summary cut.tferry", "is truncated");
  expect_failure("$T report summary empty.tferry", "is empty");
  expect_failure("$T report summary text.tferry", "is not a Tensorferry session");
  expect_failure("$T report summary folder.tferry", "is not a file");
  expect_failure("$T analyze text.tferry --budget 1GiB", "is not a Tensorferry session");
  {
    trace::Database database(path("a.tferry"), trace::Database::Mode::kReadWrite);
    database.execute("PRAGMA user_version = 999");
  }
  expect_failure("$T report summary a.tferry", "newer");
}

TEST_F(SessionCommandsTest, ALockedSessionSaysSo) {
  LayersSession{}.write(path("a.tferry"));
  trace::Database writer(path("a.tferry"), trace::Database::Mode::kReadWrite);
  writer.execute("BEGIN EXCLUSIVE");
  expect_failure("$T report summary a.tferry", "is locked: another program is writing it");
}

TEST_F(SessionCommandsTest, QueryReadsAndNeverWrites) {
  LayersSession{}.write(path("a.tferry"));
  EXPECT_EQ(sh("$T query 'SELECT pid, host FROM process' a.tferry --format csv").out,
            "pid,host,known_by\n4711,box,measured\n");
  EXPECT_EQ(sh("$T query a.tferry 'SELECT 1.5 AS x, NULL AS y' --format csv").out,
            "x,y,known_by\n1.5,,measured\n");
  const std::string before = contents(root_ / "a.tferry");
  expect_failure("$T query 'DELETE FROM kernel' a.tferry", "a.tferry answers");
  expect_failure("$T query 'SELECT * FROM nowhere' a.tferry", "no such table");
  EXPECT_EQ(contents(root_ / "a.tferry"), before);
}

TEST_F(SessionCommandsTest, StructureOfTwoRecordings) {
  LayersSession{}.write(path("a.tferry"));
  LayersSession{.timed = false}.write(path("same.tferry"));
  LayersSession{.iterations = 7}.write(path("longer.tferry"));
  LayersSession{.bytes = 4096}.write(path("smaller.tferry"));
  EXPECT_EQ(sh("$T compare --structure a.tferry same.tferry").exit_code(), 0);
  const Ended longer = sh("$T compare --structure a.tferry longer.tferry");
  EXPECT_EQ(longer.exit_code(), 1);
  EXPECT_TRUE(longer.printed(
      "the operations differ from number 18 on: its end against \"memcpy host_to_device 40000\""))
      << longer.out;
  const Ended smaller = sh("$T compare --structure a.tferry smaller.tferry");
  EXPECT_EQ(smaller.exit_code(), 1);
  EXPECT_TRUE(smaller.printed("the allocations differ from number 0 on: \"8388608 device alloc\""))
      << smaller.out;
  expect_failure("$T compare --structure a.tferry", "B");
}

TEST_F(SessionCommandsTest, TwoSessionsAreComparedInFigures) {
  LayersSession{}.write(path("a.tferry"));
  LayersSession{.iterations = 7}.write(path("longer.tferry"));
  const Ended compared = sh("$T compare a.tferry longer.tferry");
  EXPECT_EQ(compared.exit_code(), 0) << compared.err;
  EXPECT_TRUE(compared.printed("Differences in all: below minus above")) << compared.out;
  EXPECT_TRUE(compared.printed("0    time in kernels            24.00 us  28.00 us     4.00 us  16.7 %"))
      << compared.out;
  EXPECT_TRUE(compared.printed("Kernels whose time differs most")) << compared.out;
  EXPECT_TRUE(compared.printed("above: a.tferry; below: longer.tferry")) << compared.out;
}

TEST_F(SessionCommandsTest, MergeRecoversSpools) {
  fs::create_directories(root_ / "spools");
  {
    const auto spool =
        trace::SpoolWriter::open_in((root_ / "spools").string(), {.source = trace::SpoolSource::kRuntime});
    ASSERT_TRUE(spool);
    trace::ProcessRecord process;
    process.time_ns = trace::SpoolWriter::now_ns();
    process.pid = ::getpid();
    process.command = spool->intern("train.py");
    spool->append(process);
  }
  write_file("spools/spool.1.runtime.0", "this is no spool");
  const Ended ended = sh("$T merge spools -o a.tferry");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.told("1 more were unreadable")) << ended.err;
  EXPECT_TRUE(sh("$T report summary a.tferry").printed("train.py"));
  EXPECT_TRUE(sh("$T report quality a.tferry").printed("spool.1.runtime.0"));
  expect_failure("$T merge spools -o a.tferry", "a.tferry exists already");
  expect_failure("$T merge bin -o b.tferry", "there is no spool");
  expect_failure("$T merge nothing -o b.tferry", "nothing does not exist");
}

}  // namespace
}  // namespace tferry::cli
