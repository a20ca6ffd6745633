// The layers sample's twin under a plan, as a whole job: the same answer, no mapping call in a planned
// iteration, the budget kept.
#include "tests/end_to_end/job.hpp"
#include "tests/end_to_end/layers_plan.hpp"
#include "tests/runtime/plan_story.hpp"
#include "trace/job_status.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace tferry::end_to_end {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kIterations = 8;

class PlannedLayers : public ::testing::Test {
 protected:
  using Variables = std::map<std::string, std::string>;

  void SetUp() override {
    std::string path = std::filesystem::temp_directory_path() / "tferry-planned-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(path.data()));
    directory_ = path;
    sample_.buffers = 30;
    sample_.mib = 2;
    sample_.hidden = 1;
    sample_.iterations = kIterations;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> command() const {
    return {TFERRY_LAYERS,
            "--buffers",
            std::to_string(sample_.buffers),
            "--mib",
            std::to_string(sample_.mib),
            "--hidden",
            std::to_string(sample_.hidden),
            "--iterations",
            std::to_string(sample_.iterations)};
  }
  static Variables alone() {
    return {{"LD_LIBRARY_PATH", TFERRY_SOFTWARE_DRIVER_DIRECTORY},
            {"SWD_DEVICE_MEMORY", std::to_string(512 * kMiB)},
            {"SWD_POISON", "1"}};
  }
  Variables under(const trace::FlatPlan& plan, const Variables& more = {}) {
    const std::string file = directory_ + "/flat.plan";
    std::string error;
    EXPECT_TRUE(runtime_test::write_plan(file, plan, error)) << error;
    Variables all = more;
    all.insert({{"LD_PRELOAD", TFERRY_RUNTIME_LIBRARY},
                {"TFERRY_MOVABLE", std::to_string(2 * kMiB)},
                {"TFERRY_RUN_DIR", directory_},
                {"TFERRY_BUDGET", std::to_string(plan.budget_bytes)},
                {"TFERRY_PLAN", file}});
    all.merge(alone());
    return all;
  }
  std::unique_ptr<trace::JobStatus> status() const {
    auto page = std::make_unique<trace::JobStatus>();
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (!entry.path().filename().string().starts_with("status.")) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      file.read(reinterpret_cast<char*>(page.get()), sizeof *page);
      EXPECT_TRUE(file) << "a whole page";
    }
    return page;
  }

  samples::LayersOptions sample_;
  std::string directory_;
};

TEST_F(PlannedLayers, GivesTheSameAnswerAndMapsNothingInAPlannedIteration) {
  const Ended native = run_job(command(), alone());
  ASSERT_EQ(0, native.code) << native.err;
  const trace::FlatPlan plan = layers_plan(sample_);
  ASSERT_LT(plan.budget_bytes, 60 * kMiB) << "of 72 in all";
  const Ended planned = run_job(command(), under(plan));
  EXPECT_EQ(0, planned.code) << planned.err;
  EXPECT_EQ("", planned.err);
  EXPECT_EQ(native.answer(), planned.answer());
  const auto page = status();
  const trace::DeviceStatus& device = page->device[0];
  EXPECT_EQ(1, device.plan_adoptions);
  EXPECT_LE(kIterations - 4, device.plan_iterations_followed);
  EXPECT_EQ(device.plan_iterations, device.plan_iterations_followed);
  EXPECT_EQ(0, device.plan_mappings);
  EXPECT_EQ(0, device.plan_conflicts);
  EXPECT_EQ(0, device.plan_late_fetches);
  EXPECT_EQ(device.plan_actions_due, device.plan_actions_done);
  EXPECT_LE(
      device.plan_iterations_followed * static_cast<std::int64_t>(plan.leaves.size() + plan.returns.size()),
      device.plan_actions_due);
  EXPECT_LE(device.resident_peak, device.budget);
  EXPECT_LT(0, device.plan_iterations_timed);
  EXPECT_LT(device.plan_iterations_timed, device.plan_iterations_followed);
  EXPECT_LT(0, device.plan_measured_ns);
}

TEST_F(PlannedLayers, ASecondJobFollowsThePlanToo) {
  const trace::FlatPlan plan = layers_plan(sample_);
  for (const char* stream_ordered : {"", "--stream-ordered"}) {
    SCOPED_TRACE(stream_ordered);
    auto job = command();
    if (*stream_ordered != '\0') job.emplace_back(stream_ordered);
    const Ended native = run_job(job, alone());
    TearDown();
    SetUp();
    const Ended planned = run_job(job, under(plan, {{"SWD_JITTER", "7"}}));
    EXPECT_EQ(0, planned.code) << planned.err;
    EXPECT_EQ(native.answer(), planned.answer());
    EXPECT_LE(kIterations - 4, status()->device[0].plan_iterations_followed);
  }
}

TEST_F(PlannedLayers, AuditFindsNothingWrong) {
  const Ended planned = run_job(command(), under(layers_plan(sample_), {{"TFERRY_VERIFY", "1"}}));
  EXPECT_EQ(0, planned.code) << planned.err;
  const auto page = status();
  EXPECT_LT(100, page->device[0].audit_checks);
  EXPECT_EQ(0, page->device[0].audit_failures);
  EXPECT_LE(kIterations - 4, page->device[0].plan_iterations_followed);
}

TEST_F(PlannedLayers, APlanOfAnotherProgramIsLeft) {
  samples::LayersOptions other = sample_;
  other.mib = 3;
  trace::FlatPlan plan = layers_plan(other);
  sample_.iterations = 28;
  const Ended planned = run_job(command(), under(plan));
  EXPECT_EQ(0, planned.code) << planned.err;
  EXPECT_EQ(run_job(command(), alone()).answer(), planned.answer());
  const std::string said = "tferry: GPU 0: a story is for another program";
  EXPECT_NE(std::string::npos, planned.err.find(said)) << planned.err;
  EXPECT_EQ(planned.err.find(said), planned.err.rfind(said)) << "said once";
  EXPECT_EQ(static_cast<std::int64_t>(trace::PlanState::kForeign), status()->device[0].plan_state);
}

TEST_F(PlannedLayers, ADamagedPlanIsRefusedAndTheJobRuns) {
  const trace::FlatPlan plan = layers_plan(sample_);
  const Variables variables = under(plan);
  const std::string file = variables.at("TFERRY_PLAN");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const Ended planned = run_job(command(), variables);
  EXPECT_EQ(0, planned.code) << planned.err;
  EXPECT_NE(std::string::npos, planned.err.find("tferry: GPU 0: cannot follow plan " + file)) << planned.err;
  EXPECT_EQ(0, status()->device[0].plan_adoptions);
}

TEST_F(PlannedLayers, AMissingPlanIsToldAndTheJobRuns) {
  Variables variables = under(layers_plan(sample_));
  variables["TFERRY_PLAN"] = directory_ + "/nowhere.plan";
  const Ended planned = run_job(command(), variables);
  EXPECT_EQ(0, planned.code) << planned.err;
  EXPECT_NE(std::string::npos, planned.err.find("nowhere.plan: No such file")) << planned.err;
}

TEST_F(PlannedLayers, APlanForALargerBudgetIsRefused) {
  Variables variables = under(layers_plan(sample_));
  variables["TFERRY_BUDGET"] = std::to_string(16 * kMiB);
  const Ended planned = run_job(command(), variables);
  EXPECT_EQ(0, planned.code) << planned.err;
  EXPECT_NE(std::string::npos, planned.err.find("GiB, and the budget is 0.02 GiB")) << planned.err;
  EXPECT_EQ(static_cast<std::int64_t>(trace::PlanState::kRefused), status()->device[0].plan_state);
}

}  // namespace
}  // namespace tferry::end_to_end
