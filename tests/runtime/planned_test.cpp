// Programs under a plan: what moves, what is mapped, and what happens when they do something else.
#include "tests/runtime/ferried_test.hpp"
#include "tests/runtime/planned_program.hpp"

#include <string>

namespace tferry::runtime_test {
namespace {

using trace::FlatPlan;
using trace::PlanState;

class Planned : public FerriedTest {
 protected:
  void SetUp() override {
    FerriedTest::SetUp();
    stream_ = stream();
  }
  /// A device of so many chunks, and a plan in the run directory.
  void start_with(const FlatPlan& plan, std::size_t budget) {
    start(budget);
    stream_ = stream();
    offer(plan);
    before_ = values();
  }
  void offer(const FlatPlan& plan) {
    std::string error;
    ASSERT_TRUE(write_plan(drivers_.live_plan_path(), plan, error)) << error;
  }

  struct Values {
    std::int64_t adoptions, iterations, followed, due, done, late, mappings, placed, conflicts, surprises,
        departures, rejoins, bytes_in, bytes_out, host_waits;
  };
  static Values values() {
    const trace::DeviceStatus& d = Drivers::get().device();
    return {d.plan_adoptions,   d.plan_iterations,   d.plan_iterations_followed,
            d.plan_actions_due, d.plan_actions_done, d.plan_late_fetches,
            d.plan_mappings,    d.plan_placed,       d.plan_conflicts,
            d.plan_surprises,   d.plan_departures,   d.plan_rejoins,
            d.bytes_in,         d.bytes_out,         d.host_waits};
  }
  /// Since the device was opened.
  Values since() const {
    const Values now = values();
    return {now.adoptions - before_.adoptions,
            now.iterations - before_.iterations,
            now.followed - before_.followed,
            now.due - before_.due,
            now.done - before_.done,
            now.late - before_.late,
            now.mappings - before_.mappings,
            now.placed - before_.placed,
            now.conflicts - before_.conflicts,
            now.surprises - before_.surprises,
            now.departures - before_.departures,
            now.rejoins - before_.rejoins,
            now.bytes_in - before_.bytes_in,
            now.bytes_out - before_.bytes_out,
            now.host_waits - before_.host_waits};
  }
  PlanState state() const { return static_cast<PlanState>(drivers_.device().plan_state.load()); }

  CUstream stream_ = nullptr;
  Values before_{};
};

TEST_F(Planned, AStepUnderAPlanMovesWhatItSaysAndMapsNothing) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 1);
  ProgramRun run(program, api_, stream_);
  for (int i = 0; i < 3; ++i) run.iterate();
  ASSERT_EQ(PlanState::kFollowing, state());
  EXPECT_EQ(1, since().adoptions);
  run.iterate();
  const Values before = values();
  const std::int64_t maps = drivers_.calls("cuMemMap");
  for (int i = 0; i < 5; ++i) run.iterate();
  const Values after = values();
  EXPECT_EQ(5, after.followed - before.followed);
  EXPECT_EQ(0, after.mappings - before.mappings);
  EXPECT_EQ(maps, drivers_.calls("cuMemMap"));
  EXPECT_EQ(5 * (4 + 4), after.due - before.due);
  EXPECT_EQ(after.due - before.due, after.done - before.done);
  EXPECT_EQ(5 * 4 * 2 * static_cast<std::int64_t>(kChunk), after.bytes_out - before.bytes_out);
  EXPECT_EQ(5 * 4 * 2 * static_cast<std::int64_t>(kChunk), after.bytes_in - before.bytes_in);
  EXPECT_EQ(0, after.late - before.late);
  EXPECT_EQ(0, after.conflicts - before.conflicts);
  EXPECT_EQ(0, after.host_waits - before.host_waits);
  EXPECT_EQ("", run.difference());
  EXPECT_LE(drivers_.device().resident_peak, drivers_.device().budget);
}

}  // namespace
}  // namespace tferry::runtime_test
