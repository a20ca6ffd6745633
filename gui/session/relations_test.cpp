// A session of two GPUs that copy at the same time in; contention lanes, arrows and the matrix out.
#include "gui/session/relations.hpp"

#include "cli/report/render.hpp"
#include "gui/report/panel_reports.hpp"
#include "gui/session/event_facts.hpp"
#include "gui/session/open_session.hpp"
#include "gui/testing/contended_session.hpp"
#include "gui/testing/session_maker.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::gui {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// With plain spaces instead of narrow ones before units.
std::string plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')).toStdString(); }

class RelationsTest : public ::testing::Test {
 protected:
  int lane_of(LaneKind kind) const {
    const auto& lanes = session_->overview->lanes;
    const auto found =
        std::find_if(lanes.begin(), lanes.end(), [kind](const Lane& lane) { return lane.kind == kind; });
    return found == lanes.end() ? -1 : static_cast<int>(found - lanes.begin());
  }
  std::vector<Relation> relations(EventRef event) {
    return find_relations(session_->session, *session_->names, *session_->overview, event);
  }

  std::unique_ptr<OpenSession> session_ = OpenSession::open(contended_session());
};

TEST_F(RelationsTest, ALinkOnWhichTimeWasLostHasABandAboveAllGpus) {
  ASSERT_FALSE(session_->overview->groups.empty());
  const LaneGroup& across = session_->overview->groups.front();
  EXPECT_EQ(across.title.toStdString(), "Across GPUs");
  ASSERT_EQ(across.lanes.size(), 1u);
  const Lane& lane = session_->overview->lanes[static_cast<std::size_t>(across.lanes[0])];
  EXPECT_EQ(lane.title.toStdString(), "Contention, GPU 0–1");
  const auto picture = session_->reader->read(session_->overview->range, 1000);
  const Slice& band = *picture->slices[static_cast<std::size_t>(across.lanes[0])];
  ASSERT_EQ(band.items.size(), 6u) << "a window an iteration";
  EXPECT_EQ(band.items[0].bytes, 4 * kMs) << "both lose 2 ms";
  EXPECT_EQ(band.items[0].busy, 1);
}

TEST_F(RelationsTest, TheNextWindowIsTheNextOfItsLane) {
  const FoundEvent first = contention_window(session_->session, *session_->overview, 2 * kMs);
  ASSERT_EQ(first.lane, lane_of(LaneKind::kContention));
  const FoundEvent next =
      next_in_lane(session_->session, *session_->overview, first.lane, first.range.from_ns, 1);
  EXPECT_EQ(next.range.from_ns, first.range.from_ns + 6 * kMs);
  EXPECT_EQ(contention_window(session_->session, *session_->overview, 3 * kMs).event.id, 0);
}

TEST_F(RelationsTest, AWindowTellsWhoLostHowMuchToWhom) {
  const FoundEvent window = contention_window(session_->session, *session_->overview, 2 * kMs);
  std::string text;
  for (const auto& [name, value] :
       event_facts(session_->session, *session_->names, *session_->overview, window.event).facts)
    text += plain(name + QLatin1Char(' ') + value + QLatin1Char('\n'));
  EXPECT_NE(text.find("GPU 0 lost 2 ms to GPU 1, at a link; measured"), std::string::npos) << text;
  EXPECT_NE(text.find("GPU 1 lost 2 ms to GPU 0"), std::string::npos) << text;
}

TEST_F(RelationsTest, ACopyLeadsToTheKernelThatWaitedAndToTheCopyThatSlowedIt) {
  const auto copy = session_->session.first<trace::MemcpyRow>("WHERE device_id = 1 ORDER BY start_ns");
  ASSERT_TRUE(copy);
  const std::vector<Relation> found = relations({EventTable::kMemcpy, copy->id});
  ASSERT_EQ(found.size(), 1u) << "no kernel touches what was copied, and none follows in its stream";
  EXPECT_EQ(found[0].kind, Relation::Kind::kCulprit);
  EXPECT_EQ(plain(found[0].text), "slowed by a copy of GPU 1, 4 ms at the same time");
  const auto other = session_->session.first<trace::MemcpyRow>("WHERE id = ?", found[0].event.event.id);
  EXPECT_EQ(other->device_id, 2);
  EXPECT_EQ(other->start_ns, copy->start_ns);
}

TEST_F(RelationsTest, AWindowLeadsToTheCopiesThatLost) {
  const FoundEvent window = contention_window(session_->session, *session_->overview, 2 * kMs);
  const std::vector<Relation> found = relations(window.event);
  ASSERT_EQ(found.size(), 2u);
  for (const Relation& relation : found) {
    EXPECT_EQ(relation.kind, Relation::Kind::kVictim);
    EXPECT_NE(plain(relation.text).find("lost 2 ms"), std::string::npos) << plain(relation.text);
  }
}

TEST_F(RelationsTest, TheWorstWindowOfAPairIsFoundByItsNamesInTheMatrix) {
  trace::Session& session = session_->session;
  EXPECT_NE(worst_window(session, *session_->overview, 0, QStringLiteral("GPU 1")).event.id, 0);
  EXPECT_NE(worst_window(session, *session_->overview, 1, {}).event.id, 0);
  EXPECT_EQ(worst_window(session, *session_->overview, 0, QStringLiteral("GPU 0")).event.id, 0);
}

TEST_F(RelationsTest, TheMatrixTellsTimeLostPerIteration) {
  const cli::Scope scope(session_->session, {});
  const std::vector<cli::Table> tables = report_matrix(scope);
  ASSERT_EQ(tables.size(), 1u);
  std::string text;
  for (const cli::Column& column : tables[0].columns) text += column.name + "|";
  for (const cli::Row& row : tables[0].rows) {
    text += "\n";
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      text += cli::shown(row.cells[i], tables[0].columns[i].unit) + "|";
  }
  EXPECT_EQ(text, "lost_by|GPU 0|GPU 1|in_all|\nGPU 0|0 ns|2.00 ms|2.00 ms|\nGPU 1|2.00 ms|0 ns|2.00 ms|");
}

TEST(WaiterTest, AKernelThatWasCalledBeforeTheCopyWasDoneWaitedForIt) {
  const trace::TestDirectory directory;
  const std::string path = directory / "s.tferry";
  SessionMaker(path).copy_in(1000, 0, 10).kernel("reader", 12, 20).publish();
  const auto session = OpenSession::open(path);
  const std::vector<Relation> found =
      find_relations(session->session, *session->names, *session->overview, {EventTable::kMemcpy, 1});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Relation::Kind::kWaiter);
  EXPECT_EQ(plain(found[0].text), "reader used it next, 2 µs after") << "when it was called is unknown";
  EXPECT_EQ(found[0].event.range.from_ns, SessionMaker::at(12));
}

}  // namespace
}  // namespace tferry::gui
