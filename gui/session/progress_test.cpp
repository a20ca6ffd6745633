#include "gui/session/progress.hpp"

#include "gui/report/panel_reports.hpp"
#include "gui/session/interruptible.hpp"
#include "gui/session/open_session.hpp"
#include "gui/testing/analyzed_golden.hpp"
#include "gui/testing/session_maker.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tferry::gui {
namespace {

TEST(ProgressTest, TellsWhatIsDoneAndHowFarItIs) {
  Progress progress;
  EXPECT_FALSE(progress.state());
  {
    const Progress::Work work(progress, QStringLiteral("Opening"));
    const Progress::Work within(progress, QStringLiteral("Reading names"));
    progress.at(0.5);
    progress.at(0.3);
    EXPECT_EQ(progress.state()->what.toStdString(), "Opening");
    EXPECT_EQ(progress.state()->percent, 50) << "never goes back";
    progress.at(1);
    EXPECT_EQ(progress.state()->percent, 99) << "done is who is gone";
  }
  EXPECT_FALSE(progress.state());
}

TEST(ProgressTest, ACancelledWorkEndsAndTheNextIsWantedAgain) {
  Progress progress;
  {
    const Progress::Work work(progress, QStringLiteral("Opening"));
    progress.cancel();
    EXPECT_THROW(progress.at(0.1), WorkCancelled);
  }
  const Progress::Work work(progress, QStringLiteral("Opening"));
  EXPECT_NO_THROW(progress.at(0.1));
}

TEST(ProgressTest, AQueryIsGivenUpSoonAfterItIsCancelled) {
  const trace::TestDirectory directory;
  SessionMaker(directory / "s.tferry").kernel("k", 0, 1).publish();
  trace::Session session = trace::Session::open(directory / "s.tferry");
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
  Progress progress;
  const Progress::Work work(progress, QStringLiteral("Counting"));
  progress.cancel();
  const Interruptible interruptible(session, progress, 1e6);
  EXPECT_THROW(session.integer(endless), trace::SessionError);
  EXPECT_GT(progress.state()->percent, 0);
}

TEST(ProgressTest, OpeningTellsItsShareAndIsGivenUp) {
  const trace::TestDirectory directory;
  SessionMaker maker(directory / "s.tferry");
  for (int i = 0; i < 20'000; ++i) maker.kernel("k", i, i + 1);
  maker.publish();
  Progress progress;
  {
    const Progress::Work work(progress, QStringLiteral("Opening"));
    EXPECT_NO_THROW(OpenSession::open(directory / "s.tferry", &progress));
    EXPECT_GT(progress.state()->percent, 80);
  }
  const Progress::Work work(progress, QStringLiteral("Opening"));
  progress.cancel();
  EXPECT_ANY_THROW(OpenSession::open(directory / "s.tferry", &progress));
}

TEST(ProgressTest, TheCurveTellsItsShareAndIsGivenUp) {
  trace::Session session = trace::Session::open(analyzed_golden());
  const cli::Scope scope(session, {});
  std::vector<double> shares;
  report_curve(scope, [&](double share) { shares.push_back(share); });
  ASSERT_GT(shares.size(), 100u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_GT(shares.back(), 0.9);
  const auto cancel = [&](double share) {
    if (share > 0.2) throw WorkCancelled();
  };
  EXPECT_THROW(report_curve(scope, cancel), WorkCancelled);
}

}  // namespace
}  // namespace tferry::gui
