// A session of two GPUs in, reports about contention, expected text.
#include "analyzer/session/analysis.hpp"
#include "analyzer/session/contention_analysis.hpp"
#include "analyzer/session/store.hpp"
#include "analyzer/session/two_gpu_session.hpp"
#include "cli/report/compare_report.hpp"
#include "cli/report/render.hpp"
#include "cli/report/reports.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

using analyzer::testing_support::TwoGpuSession;

class ContentionReportTest : public testing::Test {
 protected:
  void analyze(const analyzer::SoloRates& assumed = {}) {
    std::vector<analyzer::RankAnalysis> ranks;
    analyzer::ContentionAnalysis contention;
    {
      trace::Session session = trace::Session::open(path_);
      ranks = analyzer::analyze_session(session, {});
      contention = analyzer::analyze_contention(session, assumed);
    }
    trace::SessionWriter writer = trace::SessionWriter::edit(path_);
    analyzer::store_analysis(writer, ranks);
    analyzer::store_contention(writer, contention);
    writer.set_meta("analysis.created", "test");
    writer.set_meta("contention.unknown", fmt::format("{}", fmt::join(contention.unknown, "\n")));
    writer.publish();
  }

  std::string report(const std::string& name, const ScopeOptions& options = {}) {
    trace::Session session = trace::Session::open(path_);
    const Scope scope(session, options);
    return render(find_report(name).make(scope), Format::kTable, path_);
  }
  double number(const std::string& sql) {
    trace::Session session = trace::Session::open(path_);
    trace::Statement row(session.database(), sql);
    return row.step() ? row.real(0) : -1;
  }

  testing_support::TemporaryDirectory directory_;
  std::string path_ = (directory_.path() / "two.tferry").string();
};

TEST_F(ContentionReportTest, TurnsThatRanksTookStandBelow) {
  TwoGpuSession{}.write(path_);
  EXPECT_EQ(report("contention").find("Turns"), std::string::npos);
  {
    trace::SessionWriter writer = trace::SessionWriter::edit(path_);
    for (const int rank : {1, 0}) {
      writer.insert(trace::SlotUseRow{.pid = 40 + rank,
                                      .device_ordinal = 0,
                                      .rank = rank,
                                      .gpus_on_link = 2,
                                      .asked = 12,
                                      .granted = 10,
                                      .used = 9,
                                      .ahead = 5,
                                      .expired = rank,
                                      .wait_ns = 20'000'000});
    }
    writer.publish();
  }
  const std::string text = report("contention");
  const std::size_t at = text.find("Turns that ranks took on shared links (measured)\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("12       10     9      5        0  20.00 ms  2.00 ms\n", at), std::string::npos)
      << text;
  EXPECT_NE(text.find("1 turns outlasted their lease", at), std::string::npos) << text;
}

// Rank 1 asks while rank 0 moves, and waits for the end of it; the other way round nobody waits.
TEST_F(ContentionReportTest, WhoWaitedForWhoseTurnIsToldByPair) {
  TwoGpuSession{}.write(path_);
  {
    trace::SessionWriter writer = trace::SessionWriter::edit(path_);
    const auto turn = [&](std::int64_t rank, std::int64_t iteration, std::int64_t asked, std::int64_t granted,
                          std::int64_t ended) {
      writer.insert(trace::SlotRow{.pid = 40 + rank,
                                   .device_ordinal = 0,
                                   .rank = rank,
                                   .link = 1,
                                   .direction = 1,
                                   .use = "granted",
                                   .bytes = 64,
                                   .iteration = iteration,
                                   .asked_ns = asked * 1'000'000,
                                   .granted_ns = granted * 1'000'000,
                                   .ended_ns = ended * 1'000'000});
    };
    turn(0, 0, 0, 0, 5);
    turn(1, 0, 2, 5, 9);
    turn(0, 1, 10, 10, 14);
    turn(1, 1, 13, 14, 15);
    writer.publish();
  }
  const std::string text = report("contention");
  EXPECT_NE(text.find("Who waited for whom on shared links (measured)\n"
                      "  link  direction     rank that waited  rank that moved   waited  per iteration\n"
                      "     1  from the GPU  1                 0                4.00 ms        2.00 ms\n"),
            std::string::npos)
      << text;
}

TEST_F(ContentionReportTest, TwoSessionsAreComparedPairByPair) {
  TwoGpuSession{}.write(path_);
  analyze();
  trace::Session before = trace::Session::open(path_), after = trace::Session::open(path_);
  const std::vector<Table> tables = compare_sessions(Scope(before, {}), Scope(after, {}));
  ASSERT_EQ(tables.size(), 3u);
  const std::string pairs = render({tables[1]}, Format::kCsv, path_);
  EXPECT_NE(pairs.find("\"GPU 0 loses to GPU 1, link\",2000000,2000000,0,measured"), std::string::npos)
      << pairs;
  EXPECT_NE(pairs.find("\"GPU 1 loses to GPU 0, link\",2000000,2000000,0,measured"), std::string::npos)
      << pairs;
}

TEST_F(ContentionReportTest, EachGpuLosesTwoOfSixMillisecondsToTheOther) {
  TwoGpuSession{}.write(path_);
  analyze();
  const std::string text = report("contention");
  EXPECT_NE(text.find("Time that transfers lost, and to whose transfers (measured)\n"
                      "  gpu  lost to  at    per iteration  of iteration    in all\n"
                      "  0    GPU 1    link        2.00 ms        33.3 %  12.00 ms\n"
                      "  1    GPU 0    link        2.00 ms        33.3 %  12.00 ms\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("2.00"), std::string::npos) << text;
  EXPECT_NE(text.find("note: unknown: no PCIe counters were sampled"), std::string::npos) << text;
}

TEST_F(ContentionReportTest, WhatIsStoredAddsUp) {
  TwoGpuSession{}.write(path_);
  analyze();
  const double lost = number("SELECT sum(lost_ns) FROM transfer");
  EXPECT_EQ(lost, 2.0 * 12 * 1e6);
  EXPECT_EQ(number("SELECT sum(lost_ns) FROM contention WHERE resource <> 'copy_engine_queue'"), lost);
  EXPECT_EQ(number("SELECT sum(exposed_ns) FROM transfer WHERE device_id = 1"), 6 * 2e6);
  EXPECT_EQ(number("SELECT count(*) FROM transfer WHERE iteration_id IS NULL"), 0);
  EXPECT_EQ(number("SELECT count(DISTINCT start_ns) FROM contention"), 6) << "a window an iteration";
}

TEST_F(ContentionReportTest, WithoutABaselineTheVerdictIsUnknownAndSaysWhatSettlesIt) {
  TwoGpuSession{.calibrated = false}.write(path_);
  analyze();
  std::string text = report("contention");
  EXPECT_NE(text.find("no time lost is known"), std::string::npos) << text;
  EXPECT_NE(text.find("note: unknown: 12 of 12 transfers (1200000000 bytes) have no solo baseline"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("tferry analyze --assume-solo"), std::string::npos) << text;
  analyze({50.0, {}, analyzer::SoloSource::kAssumed});
  text = report("contention");
  EXPECT_NE(text.find("0    GPU 1    link        2.00 ms        33.3 %  12.00 ms"), std::string::npos)
      << text;
  EXPECT_NE(text.find("assumed"), std::string::npos) << text;
}

TEST_F(ContentionReportTest, WithoutTheTreeALinkIsNotToldFromHostMemory) {
  TwoGpuSession{.tree = false}.write(path_);
  analyze({50.0, {}, analyzer::SoloSource::kAssumed});
  const std::string text = report("causes");
  EXPECT_NE(text.find("link_or_host_memory"), std::string::npos) << text;
  EXPECT_NE(text.find("the tree of PCIe links was not recorded"), std::string::npos) << text;
}

TEST_F(ContentionReportTest, LinksSayHowBusyTheyWereAndWhatWasHidden) {
  TwoGpuSession{}.write(path_);
  const std::string text = report("links", {.gpu = 0});
  EXPECT_NE(text.find("0    h2d        572 MiB  24.00 ms       25.00 GB/s  50.00 GB/s"), std::string::npos)
      << text;
  EXPECT_NE(text.find("24.00 ms  12.00 ms  12.00 ms"), std::string::npos) << text;
}

TEST_F(ContentionReportTest, IdleTimeHasAReason) {
  TwoGpuSession{}.write(path_);
  const std::string text = report("idle", {.gpu = 1});
  EXPECT_NE(text.find("1    computing  24.00 ms  66.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("1    transfer   12.00 ms  33.3 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace tferry::cli
