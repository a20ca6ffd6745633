// A session of two GPUs behind one switch in, tables `transfer` and `contention` out.
#include "analyzer/session/contention_analysis.hpp"

#include "analyzer/session/analysis.hpp"
#include "analyzer/session/store.hpp"
#include "analyzer/session/two_gpu_session.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

using testing_support::TwoGpuSession;

class ContentionAnalysisTest : public testing::Test {
 protected:
  ContentionAnalysis analyse(const SoloRates& assumed = {}) {
    std::vector<RankAnalysis> ranks;
    ContentionAnalysis contention;
    {
      trace::Session session = trace::Session::open(path_);
      ranks = analyze_session(session, {});
      contention = analyze_contention(session, assumed);
    }
    trace::SessionWriter writer = trace::SessionWriter::edit(path_);
    store_analysis(writer, ranks);
    store_contention(writer, contention);
    writer.publish();
    return contention;
  }
  double number(const std::string& sql) {
    trace::Session session = trace::Session::open(path_);
    trace::Statement row(session.database(), sql);
    return row.step() ? row.real(0) : -1;
  }

  trace::TestDirectory directory_;
  std::string path_ = directory_ / "two.tferry";
};

TEST_F(ContentionAnalysisTest, WhatIsStoredAddsUp) {
  TwoGpuSession{}.write(path_);
  EXPECT_EQ(analyse().transfers.size(), 12u);
  const double lost = number("SELECT sum(lost_ns) FROM transfer");
  EXPECT_EQ(lost, 2.0 * 12 * 1e6);
  EXPECT_EQ(number("SELECT sum(lost_ns) FROM contention WHERE resource <> 'copy_engine_queue'"), lost);
  EXPECT_EQ(
      number("SELECT sum(lost_ns) FROM contention WHERE victim_device_id = 1 AND culprit_device_id = 2"),
      lost / 2);
  EXPECT_EQ(number("SELECT sum(exposed_ns) FROM transfer WHERE device_id = 1"), 6 * 2e6);
  EXPECT_EQ(number("SELECT count(*) FROM transfer WHERE iteration_id IS NULL"), 0);
  EXPECT_EQ(number("SELECT count(DISTINCT start_ns) FROM contention"), 6) << "a window an iteration";
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE resource <> 'link' OR link_id <> 1"), 0)
      << "the edge above the switch";
}

TEST_F(ContentionAnalysisTest, AnalysedAgainItIsTheSame) {
  TwoGpuSession{}.write(path_);
  analyse();
  const double rows = number("SELECT count(*) FROM transfer");
  analyse();
  EXPECT_EQ(number("SELECT count(*) FROM transfer"), rows);
}

TEST_F(ContentionAnalysisTest, WithoutABaselineNothingIsKnownAndItSaysWhatSettlesIt) {
  TwoGpuSession{.calibrated = false}.write(path_);
  const ContentionAnalysis contention = analyse();
  EXPECT_EQ(number("SELECT count(*) FROM transfer WHERE solo_ns IS NULL AND lost_ns IS NULL AND "
                   "solo_known_by = 'unknown'"),
            12);
  EXPECT_EQ(number("SELECT count(*) FROM contention"), 0);
  ASSERT_FALSE(contention.unknown.empty());
  EXPECT_NE(contention.unknown[0].find("tferry analyze --assume-solo"), std::string::npos)
      << contention.unknown[0];
  analyse({50.0, {}, SoloSource::kAssumed});
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE known_by = 'assumed'"), 12);
}

TEST_F(ContentionAnalysisTest, WithoutTheTreeALinkIsNotToldFromHostMemory) {
  TwoGpuSession{.tree = false}.write(path_);
  analyse({50.0, {}, SoloSource::kAssumed});
  EXPECT_EQ(number("SELECT count(*) FROM contention WHERE resource = 'link_or_host_memory'"), 12);
}

}  // namespace
}  // namespace tferry::analyzer
