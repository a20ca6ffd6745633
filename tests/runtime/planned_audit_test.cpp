// Audit mode under a plan: what a mistake of the runtime or an access that nobody saw would do to contents is
// found. The mistakes are seeded by calls that the software driver forgets.
#include "tests/runtime/ferried_test.hpp"
#include "tests/runtime/planned_program.hpp"
#include "trace/job_environment.hpp"

#include <cstdlib>
#include <string>

namespace tferry::runtime_test {
namespace {

// Before the runtime reads its environment, which it does once.
[[maybe_unused]] const bool audit_on = setenv(trace::environment::kVerify, "1", 1) == 0;

using Kind = PlanStory::Event::Kind;

/// One tensor leaves right after it was written, and another lives in its chunks until it returns.
PlannedProgram written_and_parked(std::size_t chunk) {
  PlannedProgram program(chunk);
  const int weight = program.persistent(2);
  const int parked = program.allocate(2);
  program.fill(parked, 1);
  program.leave(parked);
  const int between = program.allocate(2);
  program.fill(between, 2);
  program.add(between, 3);
  program.free(between);
  program.come_back(parked);
  program.add(parked, 4);
  program.free(parked);
  for (unsigned grid = 5; grid < 9; ++grid) program.add(weight, grid);
  return program;
}

class PlannedAudit : public FerriedTest {
 protected:
  void SetUp() override {
    FerriedTest::SetUp();
    const trace::FlatPlan plan = program_.story().plan();
    start(plan.chunk_count + 1);
    stream_ = stream();
    std::string error;
    ASSERT_TRUE(write_plan(drivers_.live_plan_path(), plan, error)) << error;
    run_ = std::make_unique<ProgramRun>(program_, api_, stream_);
    for (int i = 0; i < 3; ++i) run_->iterate();
    ASSERT_EQ(static_cast<std::int64_t>(trace::PlanState::kFollowing), drivers_.device().plan_state);
    failures_before_ = drivers_.device().audit_failures;
    checks_before_ = drivers_.device().audit_checks;
  }
  // Failures are what is tested here.
  void TearDown() override { EXPECT_OK(api_.cuDevicePrimaryCtxReset_v2(0)); }

  std::int64_t failures() const { return drivers_.device().audit_failures - failures_before_; }
  std::string message() const { return drivers_.status().message; }
  static std::size_t after(const PlannedProgram& program, Kind kind) {
    std::size_t event = 0;
    while (program.story().events()[event].kind != kind) ++event;
    return event + 1;
  }
  void finish(std::size_t from) {
    run_->iterate(from);
    run_->iterate();
  }

  const PlannedProgram program_ = written_and_parked(kChunk);
  std::unique_ptr<ProgramRun> run_;
  CUstream stream_ = nullptr;
  std::int64_t failures_before_ = 0;
  std::int64_t checks_before_ = 0;
};

TEST_F(PlannedAudit, FindsNothingWhereNothingIsWrong) {
  run_->iterate();
  EXPECT_LE(checks_before_ + 4, drivers_.device().audit_checks);
  EXPECT_EQ(0, failures());
  EXPECT_EQ("", run_->difference());
}

TEST_F(PlannedAudit, FindsAWriteThatNobodyAnnounced) {
  const std::size_t left = after(program_, Kind::kLeave);
  const int tensor = program_.story().events()[left - 1].tensor;
  run_->iterate(0, left + 2);
  // The address reaches the kernel in halves, which no search of its arguments finds.
  const CUdeviceptr address = run_->address(tensor);
  auto low = static_cast<std::uint32_t>(address);
  auto high = static_cast<std::uint32_t>(address >> 32);
  std::uint64_t word = 77;
  void* parameters[] = {&low, &high, &word};
  EXPECT_OK(run_->launch(run_->kernels().store_unseen, 1, parameters));
  // The address is mapped anew when its contents come back: the write has to land while they are away.
  EXPECT_OK(api_.cuStreamSynchronize(stream_));
  finish(left + 2);
  EXPECT_LE(1, failures());
  EXPECT_NE(std::string::npos, message().find("written by an operation that did not name it")) << message();
}

/// The copy out does not wait for the last use: the chunk is another's while its user still writes.
TEST_F(PlannedAudit, FindsAChunkThatIsUsedAgainTooEarly) {
  const std::size_t left = after(program_, Kind::kLeave);
  run_->iterate(0, left - 2);
  EXPECT_OK(api_.cuStreamSynchronize(stream_));
  Gate gate;
  gate.close_after(stream_);
  ASSERT_EQ(0, drivers_.fail("cuStreamWaitEvent", 1, CUDA_SUCCESS, 1));
  run_->iterate(left - 2, left);  // the operation after which it leaves
  drivers_.clear_faults();
  gate.open();
  EXPECT_OK(api_.cuStreamSynchronize(stream_));
  finish(left);
  EXPECT_LE(1, failures());
}

/// The copy in does not happen: the chunk still holds what was in it.
TEST_F(PlannedAudit, FindsAChunkWithStaleContents) {
  const std::size_t back = after(program_, Kind::kReturn);
  run_->iterate(0, back);
  ASSERT_EQ(0, drivers_.fail("cuMemcpyHtoDAsync_v2", 1, CUDA_SUCCESS, 0));
  finish(back);
  EXPECT_LE(1, failures());
  EXPECT_NE(std::string::npos, message().find("contents came back changed")) << message();
}

}  // namespace
}  // namespace tferry::runtime_test
