// A session with a plan and what the runtime did of it; each movement tied to the other, and by how much it
// was late.
#include "gui/session/plan_lane.hpp"

#include "gui/session/event_facts.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/session/open_session.hpp"
#include "gui/session/relations.hpp"
#include "gui/testing/planned_session.hpp"
#include "gui/testing/session_maker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tferry::gui {
namespace {

constexpr std::int64_t kMs = 1'000'000, kStart = SessionMaker::kStart;

/// With plain spaces instead of narrow ones before units.
std::string plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')).toStdString(); }

class PlanLaneTest : public ::testing::Test {
 protected:
  void open(const std::string& path) { session_ = OpenSession::open(path); }
  /// What a copy of the planned session looks like after this SQL.
  void open_changed(const std::string& sql) {
    const std::string path = directory_ / "changed.tferry";
    write_planned_session(path);
    trace::Database(path, trace::Database::Mode::kReadWrite).execute(sql);
    open(path);
  }
  std::string facts(EventRef event) {
    const EventFacts found = event_facts(session_->session, *session_->names, *session_->overview, event);
    std::string text = plain(found.title) + "\n";
    for (const auto& [name, value] : found.facts) text += plain(name) + ": " + plain(value) + "\n";
    return text;
  }
  std::vector<Relation> relations(EventRef event) {
    return find_relations(session_->session, *session_->names, *session_->overview, event);
  }
  /// "from to" in ms after the start, a line each.
  std::string planned() {
    PlanTimes plan(session_->session, 1);
    std::string text;
    for (const PlannedMove& move : plan.of(1))
      text += std::to_string((move.start_ns - kStart) / kMs) + " " +
              std::to_string((move.end_ns - kStart) / kMs) + "\n";
    return text;
  }

  trace::TestDirectory directory_;
  std::unique_ptr<OpenSession> session_;
};

TEST_F(PlanLaneTest, SimulatedTimesAreTaken) {
  open(planned_session());
  EXPECT_EQ(planned(), "1 3\n4 6\n");
}

TEST_F(PlanLaneTest, WithoutThemTimesFollowFromTheOperationsAndTheRates) {
  open_changed(
      "UPDATE plan_action SET planned_start_ns = NULL, planned_end_ns = NULL; UPDATE plan SET "
      "link_h2d_bytes_per_second = 67108864 / 0.005, link_d2h_bytes_per_second = 67108864 / 0.001");
  EXPECT_EQ(planned(), "4 5\n4 9\n") << "both after the first operation, which ends at 4 ms";
  PlanTimes plan(session_->session, 1);
  EXPECT_EQ(plan.of(1)[1].late_ns(), kMs) << "the second operation began at 8 ms";
}

TEST_F(PlanLaneTest, AnIterationThatIsNotRegularHasNoPlan) {
  open_changed("UPDATE iteration SET regular = 0 WHERE number = 0");
  EXPECT_EQ(planned(), "");
}

TEST_F(PlanLaneTest, WhatThePlanWantedLeadsToWhatBecameOfItAndBack) {
  open(planned_session());
  PlanTimes plan(session_->session, 1);
  const EventRef wanted{EventTable::kPlanAction, plan.of(1)[1].id()};
  const std::vector<Relation> became = relations(wanted);
  ASSERT_EQ(became.size(), 1u);
  EXPECT_EQ(became[0].kind, Relation::Kind::kActual);
  EXPECT_EQ(plain(became[0].text), "was done 2 ms after it was planned; an operation waited 2 ms for it");
  EXPECT_EQ(became[0].event.range.from_ns, kStart + 5 * kMs);
  const std::vector<Relation> back = relations(became[0].event.event);
  ASSERT_FALSE(back.empty());
  EXPECT_EQ(back[0].kind, Relation::Kind::kPlanned);
  EXPECT_EQ(back[0].event.event, wanted);
}

TEST_F(PlanLaneTest, TheSameMovementOfAnotherIterationIsAnotherEvent) {
  open(planned_session());
  PlanTimes plan(session_->session, 1);
  const EventRef second{EventTable::kPlanAction, plan.of(2)[1].id()};
  EXPECT_NE(plan.of(1)[1].id(), second.id);
  ASSERT_EQ(relations(second).size(), 1u);
  EXPECT_EQ(relations(second)[0].event.range.from_ns, kStart + 17 * kMs);
  EXPECT_NE(facts(second).find("to spare: 2 ms"), std::string::npos) << facts(second);
}

TEST_F(PlanLaneTest, AMovementTellsByHowMuchItWasLate) {
  open(planned_session());
  const std::string fetch = facts({EventTable::kSwap, 2});
  EXPECT_NE(fetch.find("Fetch of layer1.weight\n"), std::string::npos) << fetch;
  EXPECT_NE(fetch.find("late by: 2 ms"), std::string::npos) << fetch;
  EXPECT_NE(fetch.find("is done: 2 ms after it was planned"), std::string::npos) << fetch;
  EXPECT_EQ(late_ns(session_->session, 1), 0) << "an eviction";
  EXPECT_EQ(late_ns(session_->session, 4), 0) << "nothing waited for the second fetch";
}

TEST_F(PlanLaneTest, AFetchAheadOfNeedIsLateIfWhatWaitedTouchesTheSame) {
  open_changed(
      "UPDATE swap SET operation = NULL; INSERT INTO access (process_id, operation, allocation_id, "
      "\"offset\", kind, "
      "known_by) VALUES (1, 2, 1, 0, 2, 1)");
  EXPECT_EQ(late_ns(session_->session, 2), 2 * kMs);
}

TEST_F(PlanLaneTest, AWaitTellsWhoWaitedAndForWhat) {
  open(planned_session());
  const std::string wait = facts({EventTable::kGate, 1});
  for (const char* told : {"Wait for memory\n", "takes: 2 ms", "who waits: the GPU",
                           "with operation: 2: backward", "for: layer1.weight, there after 2 ms"})
    EXPECT_NE(wait.find(told), std::string::npos) << told << " in " << wait;
  open_changed("DELETE FROM swap; UPDATE gate SET fetch_bytes = 0");
  EXPECT_NE(facts({EventTable::kGate, 1}).find("for: room"), std::string::npos);
}

TEST_F(PlanLaneTest, FetchesOfOneWaitShareItsTimeInTheirOrder) {
  // The operation waits from 6 to 8 ms; one fetch is there at 7, one of another tensor at 7.5, neither at 8.
  open_changed(
      "UPDATE memcpy SET end_ns = end_ns - 1000000 WHERE id = (SELECT memcpy_id FROM swap WHERE id = 2);"
      "INSERT INTO memcpy SELECT 90, process_id, device_id, stream_id, end_ns, end_ns + 500000, bytes, kind, "
      "source_kind, destination_kind, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
      "NULL, NULL, "
      "NULL, owner FROM memcpy WHERE id = (SELECT memcpy_id FROM swap WHERE id = 2);"
      "INSERT INTO swap SELECT 90, process_id, device_id, kind, 7, 0, bytes, operation, submit_ns, wait_ns, "
      "90 FROM "
      "swap WHERE id = 2");
  std::map<std::int64_t, std::int64_t> lost;
  const std::int64_t others = read_move_losses(
      session_->session, "1", "1", [&](const MoveLoss& move) { lost[move.allocation_id] += move.lost_ns; });
  EXPECT_EQ(lost[1], kMs);
  EXPECT_EQ(lost[7], kMs / 2);
  EXPECT_EQ(others, kMs / 2) << "what no fetch explains";
}

TEST_F(PlanLaneTest, TheNextPlannedMovementIsFoundInBothDirections) {
  open(planned_session());
  const auto& lanes = session_->overview->lanes;
  int lane = 0;
  while (lanes[static_cast<std::size_t>(lane)].kind != LaneKind::kPlan) ++lane;
  const FoundEvent next = next_in_lane(session_->session, *session_->overview, lane, kStart + 6 * kMs, 1);
  EXPECT_EQ(next.range.from_ns, kStart + 13 * kMs);
  const FoundEvent before =
      next_in_lane(session_->session, *session_->overview, lane, next.range.from_ns, -1);
  EXPECT_EQ(before.range.from_ns, kStart + 4 * kMs);
  EXPECT_EQ(found_event(session_->session, *session_->overview, next.event).lane, lane);
}

TEST_F(PlanLaneTest, TheLifeOfATensorTellsWhatItIs) {
  open_changed("INSERT INTO allocation_name VALUES (1, 'layers.1.weight', 'weight', 'pytorch')");
  const std::string life = facts({EventTable::kAllocation, 1});
  for (const char* told : {"layer1.weight\n", "the program calls it: layers.1.weight", "category: weight",
                           "bytes: 64 MiB", "life: persistent", "movements: 4"})
    EXPECT_NE(life.find(told), std::string::npos) << told << " in " << life;
  const Lane& lane = *std::find_if(session_->overview->lanes.begin(), session_->overview->lanes.end(),
                                   [](const Lane& one) { return one.kind == LaneKind::kTensor; });
  EXPECT_EQ(lane.name.toStdString(), "layer1.weight") << "as plans name it";
  EXPECT_EQ(plain(lane.title), "layers.1.weight   64 MiB") << "as the program does";
}

TEST_F(PlanLaneTest, TheNextEventOfATensorIsWhatUsesIt) {
  open_changed(
      "INSERT INTO access (process_id, operation, allocation_id, \"offset\", kind, known_by) VALUES (1, 2, "
      "1, 0, 2, "
      "1)");
  const auto& lanes = session_->overview->lanes;
  int lane = 0;
  while (lanes[static_cast<std::size_t>(lane)].kind != LaneKind::kTensor) ++lane;
  const FoundEvent use = next_in_lane(session_->session, *session_->overview, lane, kStart, 1);
  EXPECT_EQ(use.event.table, EventTable::kKernel);
  EXPECT_EQ(use.range.from_ns, kStart + 8 * kMs);
  EXPECT_EQ(next_in_lane(session_->session, *session_->overview, lane, use.range.from_ns, 1).event.id, 0);
}

TEST_F(PlanLaneTest, WithoutMovementsItSaysThatNothingWasMoved) {
  open_changed("DELETE FROM swap");
  PlanTimes plan(session_->session, 1);
  const std::string wanted = facts({EventTable::kPlanAction, plan.of(1)[0].id()});
  EXPECT_NE(wanted.find("nothing was moved while this was recorded"), std::string::npos) << wanted;
  EXPECT_TRUE(relations({EventTable::kPlanAction, plan.of(1)[0].id()}).empty());
}

}  // namespace
}  // namespace tferry::gui
