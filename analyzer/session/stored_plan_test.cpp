#include "analyzer/session/stored_plan.hpp"

#include "analyzer/placement/replay.hpp"
#include "analyzer/planner/plan_json.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/store.hpp"
#include "analyzer/session/workload_session.hpp"
#include "analyzer/workload/transformer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::analyzer {
namespace {

constexpr trace::MemoryRules kSmallChunks{64 << 10, 64 << 10};

class StoredPlanTest : public ::testing::Test {
 protected:
  StoredPlanTest() { record(); }

  /// Five iterations of a small training job, and a plan for two thirds of its memory.
  void record() {
    const Workload workload =
        transformer_training({.layers = 2, .width = 256, .batch = 2, .context = 256, .vocabulary = 4000});
    trace::SessionWriter writer =
        trace::SessionWriter::create(path(), {.force = true, .build_directory = ""});
    WorkloadSession job(workload, writer);
    job.other("initialise");
    for (int i = 0; i < 5; ++i) job.iteration();
    job.finish();
    writer.publish();
    analyse(1.5);
  }

  void analyse(double factor) {
    AnalysisOptions options;
    options.oversubscription = factor;
    options.chunk_bytes = options.movable_bytes = static_cast<std::int64_t>(kSmallChunks.chunk);
    options.planner.rounds = 15;
    trace::Session session = trace::Session::open(path());
    const auto ranks = analyze_session(session, options);
    trace::SessionWriter writer = trace::SessionWriter::edit(path());
    store_analysis(writer, ranks);
    writer.publish();
  }

  void edit(const std::string& sql) {
    trace::SessionWriter writer = trace::SessionWriter::edit(path());
    writer.execute(sql);
    writer.publish();
  }

  StoredPlan load(std::optional<std::int64_t> id = {}) {
    trace::Session session = trace::Session::open(path());
    return load_plan(session, id);
  }

  /// With the folder's name left out.
  std::string error(std::optional<std::int64_t> id = {}) {
    try {
      load(id);
    } catch (const PlanError& error) {
      std::string what = error.what();
      if (const auto at = what.find(path()); at != std::string::npos) what.replace(at, path().size(), "S");
      return what;
    }
    return "";
  }

  std::string path() const { return directory_ / "job.tferry"; }

  trace::TestDirectory directory_;
};

TEST_F(StoredPlanTest, ComesBackAsItWasMade) {
  const StoredPlan stored = load();
  EXPECT_FALSE(stored.placed.plan.actions.empty());
  EXPECT_EQ(static_cast<std::int64_t>(stored.placed.plan.predicted_ns + 0.5), stored.row.predicted_ns);
  EXPECT_EQ(stored.placed.split.plan(), stored.row.chunk_count);
  EXPECT_EQ(testing_support::Replay(stored.placed.workload, stored.placed.placement).run(), "");
}

TEST_F(StoredPlanTest, OlderPlansStayGoodWhenTheSessionIsAnalyzedAgain) {
  const StoredPlan before = load(1);
  analyse(1.2);
  EXPECT_EQ(load().row.id, 2);
  const StoredPlan after = load(1);
  EXPECT_EQ(after.placed.plan, before.placed.plan);
  EXPECT_EQ(after.placed.placement.places, before.placed.placement.places);
}

TEST_F(StoredPlanTest, BecomesAFlatPlanThatARuntimeAccepts) {
  const StoredPlan stored = load();
  const trace::FlatPlan flat = make_flat_plan(stored.rank, stored.placed, stored.row, "job, plan 1");
  EXPECT_EQ(trace::flat_plan_error(flat), "");
  EXPECT_EQ(flat.operations.size(), static_cast<std::size_t>(stored.row.operations));
  EXPECT_EQ(flat.chunk_bytes, kSmallChunks.chunk);
  EXPECT_EQ(flat.predicted_ns, stored.row.predicted_ns);
  EXPECT_FALSE(flat.leaves.empty());
  trace::FlatPlan read;
  std::string error;
  EXPECT_TRUE(trace::decode_flat_plan(trace::encode_flat_plan(flat), read, error)) << error;
  EXPECT_EQ(read, flat);

  // Operations are known by name, grid and block; tensors by exact size and number, or by who names them.
  const Operation& first = stored.rank.typical->workload.operations.front();
  EXPECT_EQ(flat.operations.front().signature,
            trace::OperationSignature::launch(first.name, {0, 0, 0}, {0, 0, 0}));
  for (const trace::FlatPlan::Operation& operation : flat.operations) {
    for (std::uint32_t k = 0; k < operation.name_count; ++k)
      EXPECT_LT(flat.names[operation.first_name + k], flat.tensors.size());
  }
}

TEST_F(StoredPlanTest, WhatIsNotThereIsSaid) {
  EXPECT_EQ(error(7), "S has no plan 7");
  edit("DELETE FROM plan");
  EXPECT_EQ(error(), "S has no plan");
}

TEST_F(StoredPlanTest, APlanOfAnOlderTferryIsRefused) {
  edit("UPDATE plan SET chunk_bytes = NULL");
  EXPECT_EQ(error(), "plan 1 of S does not say which chunks it is for: an older tferry made it");
}

TEST_F(StoredPlanTest, DamageIsNoticed) {
  edit("UPDATE plan_action SET bytes = bytes + 65536 WHERE number < 2");
  EXPECT_EQ(error(), "plan 1 of S is damaged: it is not what it was when it was stored");
  record();
  edit("UPDATE plan SET predicted_ns = predicted_ns / 2");
  EXPECT_EQ(error(), "plan 1 of S is damaged: it is not what it was when it was stored");
  record();
  edit("DELETE FROM plan_action WHERE number = 1");
  EXPECT_EQ(error(), "plan 1 of S is damaged: action 2 has no counterpart");
  record();
  edit("UPDATE plan_action SET tensor = 'x' WHERE number = 0");
  EXPECT_EQ(error(), "plan 1 of S is damaged: action 0 names a tensor that the recording does not have");
  record();
  edit("UPDATE plan_action SET after_position = 1000000 WHERE number = 4");
  EXPECT_EQ(error(), "plan 1 of S is damaged: action 4 has positions beyond the iteration");
}

TEST_F(StoredPlanTest, ARecordingThatChangedMakesItStale) {
  edit("UPDATE kernel SET grid_x = 7");
  EXPECT_EQ(error(),
            "plan 1 of S is stale: the recording's iterations have other operations than it was made for");
  record();
  edit("DELETE FROM kernel WHERE operation > 4");
  EXPECT_EQ(error(), "plan 1 of S is stale: its recording shows no iterations");
  record();
  edit("UPDATE plan SET process_id = 5");
  EXPECT_EQ(error(), "plan 1 of S is stale: what it was made from is not in the session any more");
}

TEST_F(StoredPlanTest, AHandEditedPlanReplacesIt) {
  StoredPlan stored = load();
  Plan edited = stored.placed.plan;
  const auto early = std::find_if(edited.actions.begin(), edited.actions.end(), [](const PlanAction& action) {
    return action.return_from < action.needed_by;
  });
  ASSERT_NE(early, edited.actions.end());
  early->return_from = early->needed_by;
  const std::string before = *stored.row.sha256;
  EXPECT_EQ(replace_plan(stored, to_json(edited, stored.placed.workload.workload)),
            std::vector<std::string>{});
  EXPECT_NE(*stored.row.sha256, before);
  EXPECT_EQ(stored.placed.plan.actions, edited.actions);
  EXPECT_GT(stored.placed.plan.predicted_ns, 0);

  edited.actions.clear();
  const std::vector<std::string> errors =
      replace_plan(stored, to_json(edited, stored.placed.workload.workload));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("bytes on the card, the budget is"), std::string::npos) << errors[0];
}

}  // namespace
}  // namespace tferry::analyzer
