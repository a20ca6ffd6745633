// Programs under a plan: what moves, what is mapped, and what happens when they do something else.
#include "tests/runtime/ferried_test.hpp"
#include "tests/runtime/planned_program.hpp"

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace tferry::runtime_test {
namespace {

using trace::FlatPlan;
using trace::PlanState;
using Kind = PlanStory::Event::Kind;

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

  /// Runs until the plan is followed, and one iteration more.
  void settle(ProgramRun& run) {
    for (int i = 0; i < 4; ++i) run.iterate();
    ASSERT_EQ(PlanState::kFollowing, state());
  }
  /// Two iterations later everything is as planned again.
  void expect_settled(ProgramRun& run) {
    for (int i = 0; i < 2; ++i) run.iterate();
    const Values before = values();
    for (int i = 0; i < 3; ++i) run.iterate();
    const Values after = values();
    EXPECT_EQ(PlanState::kFollowing, state());
    EXPECT_EQ(3, after.followed - before.followed);
    EXPECT_EQ(0, after.mappings - before.mappings);
    EXPECT_EQ(after.due - before.due, after.done - before.done);
    EXPECT_LT(0, after.due - before.due);
    EXPECT_EQ(0, after.late - before.late);
    EXPECT_EQ(0, after.conflicts - before.conflicts);
    EXPECT_EQ("", run.difference());
    EXPECT_LE(drivers_.device().resident, drivers_.device().budget);
  }
  /// The event of the program's operation number `position`.
  static std::size_t event_of(const PlannedProgram& program, int position) {
    std::size_t event = 0;
    for (; program.story().events()[event].kind != Kind::kOperation || position-- > 0; ++event) {
    }
    return event;
  }
  static std::size_t event_of(const PlannedProgram& program, Kind kind, int tensor) {
    std::size_t event = 0;
    while (program.story().events()[event].kind != kind || program.story().events()[event].tensor != tensor)
      ++event;
    return event;
  }
  std::string message() const { return drivers_.status().message; }

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

TEST_F(Planned, WhatIsFreedWhileAwayGoesOutAndDoesNotReturn) {
  PlannedProgram program(kChunk);
  const int weight = program.persistent(1);
  const int early = program.allocate(3);
  program.fill(early, 1);
  program.add(early, 2);
  program.leave(early, 1);
  const int late = program.allocate(2);
  program.fill(late, 3);
  program.add(late, 4);
  program.add(weight, 77);
  program.free(early);
  program.free(late);
  const FlatPlan plan = program.story().plan();
  EXPECT_EQ(4U, plan.chunk_count) << "one takes the other's chunks";
  start_with(plan, plan.chunk_count + 1);
  ProgramRun run(program, api_, stream_);
  for (int i = 0; i < 4; ++i) run.iterate();
  ASSERT_EQ(PlanState::kFollowing, state());
  const Values before = values();
  for (int i = 0; i < 5; ++i) run.iterate();
  const Values after = values();
  EXPECT_EQ(5, after.followed - before.followed);
  EXPECT_EQ(0, after.mappings - before.mappings);
  EXPECT_EQ(5 * 2 * static_cast<std::int64_t>(kChunk), after.bytes_out - before.bytes_out);
  EXPECT_EQ(0, after.bytes_in - before.bytes_in);
  EXPECT_EQ(0, after.conflicts - before.conflicts);
  // A program that uses it all the same finds what it wrote.
  run.iterate(0, event_of(program, Kind::kFree, early));
  EXPECT_EQ("", run.difference());
  run.iterate(event_of(program, Kind::kFree, early));
  EXPECT_LE(drivers_.device().resident, drivers_.device().budget);
}

TEST_F(Planned, AnOperationMoreLeavesThePlanForAMoment) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 1);
  const CUdeviceptr scratch = allocate(1);
  ProgramRun run(program, api_, stream_);
  settle(run);
  const std::size_t middle = event_of(program, 5);
  run.iterate(0, middle);
  fill(scratch, 1, 3, stream_);
  EXPECT_EQ(PlanState::kAstray, state());
  run.iterate(middle);
  EXPECT_EQ(PlanState::kFollowing, state());
  EXPECT_EQ(1, since().departures);
  EXPECT_EQ(1, since().rejoins);
  EXPECT_EQ("", run.difference());
  expect_settled(run);
  EXPECT_TRUE(holds(scratch, 1, 3));
}

TEST_F(Planned, AnOperationLessIsSteppedOver) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count);
  ProgramRun run(program, api_, stream_);
  settle(run);
  const std::size_t left_out = event_of(program, 9);
  run.iterate(0, left_out);
  run.iterate(left_out + 1);
  EXPECT_EQ(PlanState::kFollowing, state());
  EXPECT_EQ("", run.difference());
  expect_settled(run);
}

TEST_F(Planned, WhatThePlanDoesNotKnowLivesBesideItsChunks) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 3);
  ProgramRun run(program, api_, stream_);
  settle(run);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const CUdeviceptr own = allocate(3);
    run.iterate(0, event_of(program, 6));
    fill(own, 3, i, stream_);
    run.iterate(event_of(program, 6));
    EXPECT_OK(api_.cuStreamSynchronize(stream_));
    EXPECT_TRUE(holds(own, 3, i));
    EXPECT_OK(api_.cuMemFree_v2(own));
  }
  EXPECT_EQ(0, since().surprises);
  EXPECT_EQ(0, since().conflicts);
  EXPECT_EQ(3, since().mappings) << "once, for the first of them";
  expect_settled(run);
}

TEST_F(Planned, ASurpriseTakesRoomFromThePlanAndGivesItBack) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count);
  ProgramRun run(program, api_, stream_);
  settle(run);
  run.iterate(0, event_of(program, 6));
  const CUdeviceptr own = allocate(6);
  fill(own, 6, 5, stream_);
  run.iterate(event_of(program, 6));
  EXPECT_LT(0, since().surprises);
  EXPECT_EQ("", run.difference());
  EXPECT_TRUE(holds(own, 6, 5));
  EXPECT_OK(api_.cuMemFree_v2(own));
  run.iterate();
  expect_settled(run);
}

TEST_F(Planned, ALateFreeMakesAConflictUntilItComes) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 4);
  ProgramRun run(program, api_, stream_);
  settle(run);
  // The last gradient of one iteration lives on into the next.
  CUdeviceptr late = 0;
  const int gradient =
      program.story().events()[event_of(program, static_cast<int>(plan.operations.size()) - 1)].names[0];
  run.iterate(0, event_of(program, Kind::kFree, gradient));
  late = run.address(gradient);
  run.iterate(event_of(program, Kind::kFree, gradient) + 1);
  run.iterate(0, event_of(program, Kind::kAllocate, gradient));
  run.iterate(event_of(program, Kind::kAllocate, gradient));
  EXPECT_LE(1, since().conflicts);
  EXPECT_OK(api_.cuMemFree_v2(late));
  EXPECT_EQ("", run.difference());
  expect_settled(run);
}

TEST_F(Planned, AnEvaluationBetweenIterationsIsNoneOfThem) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 2);
  const CUdeviceptr scratch = allocate(1);
  ProgramRun run(program, api_, stream_);
  settle(run);
  // Forward as in training, then something else: what was allocated is freed at once.
  const std::size_t back = event_of(program, 7);
  run.iterate(0, back);
  for (std::uint32_t i = 0; i < 30; ++i) fill(scratch, 1, i, stream_);
  EXPECT_EQ("", run.difference());
  std::vector<int> alive;
  for (std::size_t i = 0; i < back; ++i) {
    const auto& event = program.story().events()[i];
    if (event.kind == Kind::kAllocate) run.free(event.tensor);
  }
  expect_settled(run);
}

TEST_F(Planned, AnotherProgramsPlanIsLeftAndSaidOnce) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  PlannedProgram other(kChunk);
  const int weight = other.persistent(2);
  for (unsigned i = 0; i < 8; ++i) other.fill(weight, 500 + i);
  start_with(other.story().plan(), 64);
  ProgramRun run(program, api_, stream_);
  for (int i = 0; i < 80 && state() != PlanState::kForeign; ++i) run.iterate();
  EXPECT_EQ(PlanState::kForeign, state());
  EXPECT_NE(std::string::npos, message().find("is for another program")) << message();
  EXPECT_EQ(0, since().adoptions);
  EXPECT_EQ("", run.difference());
}

// Everything fits, so what the plan moves is moved for nothing.
TEST_F(Planned, APlanThatCostsMoreThanItBringsIsLeftAndSaidOnce) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  FlatPlan plan = program.story().plan();
  plan.predicted_ns = 1;
  start_with(plan, 64);
  ProgramRun run(program, api_, stream_);
  for (int i = 0; i < 80 && state() != PlanState::kCostly; ++i) {
    run.iterate();
    EXPECT_OK(api_.cuStreamSynchronize(stream_));
  }
  EXPECT_EQ(PlanState::kCostly, state());
  EXPECT_NE(std::string::npos, message().find("costs more than it brings")) << message();
  EXPECT_LE(1, since().adoptions);
  const Values left = since();
  EXPECT_LT(0, left.bytes_out);
  for (int i = 0; i < 10; ++i) run.iterate();
  EXPECT_EQ(left.adoptions, since().adoptions);
  EXPECT_EQ(left.bytes_out, since().bytes_out);
  EXPECT_EQ(PlanState::kCostly, state());
  EXPECT_EQ("", run.difference());
}

TEST_F(Planned, APlanForMoreThanTheBudgetIsRefused) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count - 1);
  ProgramRun run(program, api_, stream_);
  for (int i = 0; i < 4; ++i) run.iterate();
  EXPECT_EQ(PlanState::kRefused, state());
  EXPECT_NE(std::string::npos, message().find("the budget is")) << message();
  EXPECT_EQ("", run.difference());
}

TEST_F(Planned, APlanForPiecesOfAnotherSizeIsRefused) {
  const PlannedProgram program = layered(2 * kChunk, 3, 2);
  start_with(program.story().plan(), 64);
  ProgramRun run(program, api_, stream_);
  run.iterate();
  EXPECT_EQ(PlanState::kRefused, state());
  EXPECT_NE(std::string::npos, message().find("pieces of another size")) << message();
}

TEST_F(Planned, ADamagedFileIsToldAndTheJobGoesOn) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  start(40);
  std::FILE* file = std::fopen(drivers_.live_plan_path().c_str(), "wb");
  ASSERT_NE(nullptr, file);
  std::fputs("this is no plan", file);
  std::fclose(file);
  ProgramRun run(program, api_);
  for (int i = 0; i < 3; ++i) run.iterate();
  EXPECT_NE(std::string::npos, message().find("cannot follow plan")) << message();
  EXPECT_EQ("", run.difference());
}

TEST_F(Planned, ALaterPlanTakesOverAtAnIterationsEnd) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const PlannedProgram same_with_less = layered(kChunk, 6, 2);
  const FlatPlan plan = same_with_less.story().plan();
  start_with(program.story().plan(), plan.chunk_count + 1);
  ProgramRun run(program, api_, stream_);
  settle(run);
  offer(plan);
  for (int i = 0; i < 4; ++i) run.iterate();
  EXPECT_EQ(2, since().adoptions);
  EXPECT_EQ("", run.difference());
  const Values before = values();
  run.iterate();
  EXPECT_EQ(2 + 2, values().due - before.due);
  expect_settled(run);
}

TEST_F(Planned, WeightsLeaveAndReturnToo) {
  const PlannedProgram program = layered(kChunk, 6, 4, 3);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count);
  ProgramRun run(program, api_, stream_);
  settle(run);
  expect_settled(run);
}

TEST_F(Planned, APersistentTensorThatWasMadeAnewIsKnownAgain) {
  const PlannedProgram program = layered(kChunk, 6, 4, 3);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 2);
  ProgramRun run(program, api_, stream_);
  settle(run);
  run.free(1);
  run.allocate(1);
  run.fill(1);
  run.iterate();
  EXPECT_EQ("", run.difference());
  expect_settled(run);
}

TEST_F(Planned, WhatStandsInDeviceMemoryStaysWhateverThePlanSays) {
  const PlannedProgram program = layered(kChunk, 6, 4, 3);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 2);
  const CUdeviceptr table = allocate(1);
  ProgramRun run(program, api_, stream_);
  // A kernel writes the second weight's address where the search finds it.
  CUdeviceptr where = table;
  std::uint64_t word = run.address(1);
  void* parameters[] = {&where, &word};
  EXPECT_OK(run.launch(run.kernels().store, 1, parameters));
  for (int i = 0; i < 6; ++i) run.iterate();
  EXPECT_EQ(1, resident_for(trace::ResidentReason::kPointedTo));
  EXPECT_EQ("", run.difference());
  EXPECT_EQ(1, since().adoptions);
  EXPECT_LT(since().done, since().due) << "its steps were not carried out";
}

TEST_F(Planned, WhatAGraphKnowsStaysWhateverThePlanSays) {
  const PlannedProgram program = layered(kChunk, 6, 4, 3);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 2);
  ProgramRun run(program, api_, stream_);
  settle(run);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_OK(api_.cuStreamBeginCapture_v2(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr weight = run.address(2);
  std::uint64_t words = kChunk / 4;
  std::uint32_t none = 0;  // adds nothing
  void* parameters[] = {&weight, &words, &none};
  EXPECT_OK(run.launch(run.kernels().add, 1, parameters));
  EXPECT_OK(api_.cuStreamEndCapture(stream_, &graph));
  EXPECT_OK(api_.cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 4; ++i) {
    run.iterate(0, event_of(program, 8));
    EXPECT_OK(api_.cuGraphLaunch(exec, stream_));
    run.iterate(event_of(program, 8));
  }
  EXPECT_EQ(1, resident_for(trace::ResidentReason::kCaptured));
  EXPECT_EQ("", run.difference());
  EXPECT_OK(api_.cuGraphExecDestroy(exec));
  EXPECT_OK(api_.cuGraphDestroy(graph));
  expect_settled(run);
}

TEST_F(Planned, ADriverThatRunsOutOfMemoryGetsThePlansChunksToo) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count);
  ProgramRun run(program, api_, stream_);
  settle(run);
  run.iterate(0, event_of(program, 3));
  ASSERT_EQ(0, drivers_.fail("cuMemAllocManaged", 1, CUDA_ERROR_OUT_OF_MEMORY, 0));
  CUdeviceptr managed = 0;
  EXPECT_OK(api_.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(0, drivers_.device().plan_state == static_cast<std::int64_t>(PlanState::kFollowing));
  run.iterate(event_of(program, 3));
  for (int i = 0; i < 4; ++i) run.iterate();
  EXPECT_EQ("", run.difference());
  EXPECT_OK(api_.cuMemFree_v2(managed));
}

TEST_F(Planned, AJobThatGoesOnWithSomethingElseGetsItsMemoryBack) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const PlannedProgram other = layered(kChunk, 5, 0);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 10);
  ProgramRun run(program, api_, stream_);
  settle(run);
  const CUdeviceptr scratch = allocate(1);
  for (std::uint32_t i = 0; i < 400; ++i) fill(scratch, 1, i, stream_);
  EXPECT_EQ(PlanState::kForeign, state());
  ProgramRun next(other, api_, stream_);
  for (int i = 0; i < 3; ++i) next.iterate();
  EXPECT_EQ("", next.difference());
  EXPECT_EQ("", run.difference());
  for (int i = 0; i < 3; ++i) run.iterate();
  EXPECT_EQ(2, since().adoptions) << "and when it comes back, the plan is there";
  expect_settled(run);
}

/// One instance lives until the next is there: two addresses take turns.
TEST_F(Planned, AddressesInRotationServeLivesLongerThanAnIteration) {
  PlanStory story(kChunk);
  const auto fill_by = [](unsigned grid) {
    return PlannedProgram::signature({PlannedProgram::Work::Kind::kFill, grid});
  };
  const int loss = story.allocate(static_cast<std::int64_t>(2 * kChunk));
  story.rotate(loss, 2);
  for (unsigned i = 1; i < 6; ++i) story.operation(fill_by(i), {loss});
  const FlatPlan plan = story.plan();
  start_with(plan, plan.chunk_count);
  const Kernels kernels = Kernels::load(api_);
  CUdeviceptr before = 0;
  for (std::uint32_t iteration = 0; iteration < 10; ++iteration) {
    CUdeviceptr now = allocate(2);
    for (unsigned i = 1; i < 6; ++i) {
      std::uint64_t words = 2 * kChunk / 4;
      void* parameters[] = {&now, &words, &iteration};
      EXPECT_OK(api_.cuLaunchKernel(kernels.fill, i, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
    }
    EXPECT_OK(api_.cuStreamSynchronize(stream_));
    if (before != 0) {
      EXPECT_TRUE(holds(before, 2, iteration - 1));
      EXPECT_OK(api_.cuMemFree_v2(before));
    }
    before = now;
  }
  EXPECT_EQ(1, since().adoptions);
  EXPECT_LE(6, since().placed);
  EXPECT_EQ(0, since().conflicts);
  EXPECT_EQ(0, since().mappings);
}

/// Another thread's operations are surprises like any other, and wrong bytes they make none.
TEST_F(Planned, TwoThreadsShareADeviceUnderAPlan) {
  const PlannedProgram program = layered(kChunk, 6, 4);
  const PlannedProgram other = layered(kChunk, 3, 0);
  const FlatPlan plan = program.story().plan();
  start_with(plan, plan.chunk_count + 12);
  ProgramRun run(program, api_, stream_);
  settle(run);
  std::string difference;
  std::thread thread([&] {
    EXPECT_OK(api_.cuCtxSetCurrent(context_));
    ProgramRun beside(other, api_, stream());
    for (int i = 0; i < 20; ++i) beside.iterate();
    difference = beside.difference();
  });
  for (int i = 0; i < 20; ++i) run.iterate();
  thread.join();
  EXPECT_EQ("", difference);
  EXPECT_EQ("", run.difference());
  expect_settled(run);
}

}  // namespace
}  // namespace tferry::runtime_test
