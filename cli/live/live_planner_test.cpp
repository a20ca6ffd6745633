#include "cli/live/live_planner.hpp"

#include "cli/testing/status_builder.hpp"
#include "cli/testing/temporary_directory.hpp"
#include "trace/flat_plan.hpp"
#include "trace/spool_writer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tferry::cli {
namespace {

using testing_support::StatusBuilder;
using testing_support::TemporaryDirectory;
namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;

/// A job of process 42: in every iteration three weights of 8 MiB are read in turn, each with the first.
class LivePlannerTest : public ::testing::Test {
 protected:
  LivePlannerTest() {
    trace::SpoolOptions options;
    options.flush_interval_ns = 1'000'000;
    std::string error;
    spool_ = trace::SpoolWriter::open((directory_.path() / "spool.42.runtime.0").string(), options, &error);
    EXPECT_TRUE(spool_) << error;
    spool_->append(trace::DeviceRecord{.time_ns = 1, .device = 0});
    for (std::uint64_t id = 1; id <= 3; ++id) {
      spool_->append(trace::AllocationRecord{.time_ns = 2,
                                             .allocation = id,
                                             .bytes = 8 * kMiB,
                                             .reserved_bytes = 8 * kMiB,
                                             .device = 0,
                                             .kind = trace::MemoryKind::kDevice});
    }
  }

  void iterations(int count) {
    for (int i = 0; i < count; ++i) {
      spool_->append(trace::TransferRecord{.time_ns = now_ + 1,
                                           .operation = operations_ + 1,
                                           .bytes = kMiB,
                                           .device = 0,
                                           .kind = trace::TransferKind::kPark});
      for (std::uint64_t weight = 1; weight <= 3; ++weight) {
        spool_->append(trace::KernelLaunchRecord{.time_ns = now_ += 1000,
                                                 .operation = ++operations_,
                                                 .name = spool_->intern("use " + std::to_string(weight)),
                                                 .grid = {1, 1, 1},
                                                 .block = {1, 1, 1},
                                                 .device = 0});
        std::vector<trace::AccessEntry> entries(weight == 1 ? 1 : 2);
        entries[0].allocation = weight;
        if (weight != 1) entries[1].allocation = 1;
        for (trace::AccessEntry& entry : entries) entry.known_by = trace::KnownBy::kArgument;
        spool_->append_accesses(now_, operations_, entries);
      }
    }
    spool_->flush();
  }

  /// What the runtime says of process 42's GPU 0.
  void status(std::int64_t bytes_out, trace::PlanState state = trace::PlanState::kNone,
              trace::RouteTaken route = trace::RouteTaken::kDirect) {
    StatusBuilder builder;
    builder.set_stage(trace::JobStage::kManaging);
    builder.device(0).budget = 20 * kMiB;
    builder.device(0).chunk_size = 2 * kMiB;
    builder.device(0).bytes_out = bytes_out;
    builder.device(0).route = static_cast<std::int64_t>(route);
    builder.device(0).plan_state = static_cast<std::int64_t>(state);
    builder.write(directory_.path() / "status.42");
  }

  /// The plan that lies there; its error where there is none.
  std::string plan(trace::FlatPlan& plan) const {
    std::string error;
    trace::read_flat_plan((directory_.path() / "plan.42").c_str(), plan, error);
    return error;
  }
  bool planned() const { return fs::exists(directory_.path() / "plan.42"); }

  TemporaryDirectory directory_;
  Console console_{Verbosity::kQuiet};
  LivePlanner planner_{directory_.path(), std::nullopt, {}, console_};
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::uint64_t operations_ = 0;
  std::int64_t now_ = 1000;
};

TEST_F(LivePlannerTest, AJobThatRepeatsItselfAndDoesNotFitGetsAPlan) {
  status(kMiB);
  planner_.look();
  iterations(2);
  planner_.look();
  EXPECT_FALSE(planned()) << "two iterations may be chance";
  iterations(4);
  planner_.look();
  trace::FlatPlan made;
  ASSERT_EQ(plan(made), "");
  EXPECT_EQ(made.operations.size(), 3u);
  EXPECT_EQ(made.budget_bytes, static_cast<std::uint64_t>(20 * kMiB));
  EXPECT_EQ(made.chunk_bytes, static_cast<std::uint64_t>(2 * kMiB));
  EXPECT_EQ(made.name, "made while the job ran");
  EXPECT_FALSE(made.leaves.empty());
  EXPECT_EQ(made.route, trace::CopyRoute::Way::kDirect);
}

TEST_F(LivePlannerTest, APlanIsForTheWayThatContentsTake) {
  using Way = trace::CopyRoute::Way;
  for (const auto& [taken, way] : {std::pair{trace::RouteTaken::kBoth, Way::kBoth},
                                   {trace::RouteTaken::kNeighbour, Way::kNeighbour},
                                   {trace::RouteTaken::kLeft, Way::kDirect}}) {
    LivePlanner planner(directory_.path(), std::nullopt, {}, console_);
    status(kMiB, trace::PlanState::kNone, taken);
    iterations(6);
    planner.look();
    trace::FlatPlan made;
    ASSERT_EQ(plan(made), "");
    EXPECT_EQ(made.route, way);
    fs::remove(directory_.path() / "plan.42");
  }
}

TEST_F(LivePlannerTest, AJobThatFitsNeedsNone) {
  status(0);
  iterations(6);
  planner_.look();
  EXPECT_FALSE(planned());
}

TEST_F(LivePlannerTest, AJobThatFollowsItsPlanKeepsItAndOneThatLeftItGetsAnother) {
  status(kMiB);
  iterations(6);
  planner_.look();
  ASSERT_TRUE(planned());
  fs::remove(directory_.path() / "plan.42");
  iterations(6);
  for (const auto state :
       {trace::PlanState::kLooking, trace::PlanState::kObserving, trace::PlanState::kFollowing}) {
    status(kMiB, state);
    planner_.look();
    EXPECT_FALSE(planned()) << static_cast<int>(state);
  }
  status(kMiB, trace::PlanState::kAstray);
  planner_.look();
  EXPECT_TRUE(planned());
}

TEST_F(LivePlannerTest, AJobThatWasFasterWithoutItsPlanGetsNoOther) {
  status(kMiB);
  iterations(6);
  planner_.look();
  ASSERT_TRUE(planned());
  fs::remove(directory_.path() / "plan.42");
  status(kMiB, trace::PlanState::kCostly);
  planner_.look();
  status(kMiB, trace::PlanState::kAstray);
  iterations(12);
  planner_.look();
  EXPECT_FALSE(planned());
}

TEST_F(LivePlannerTest, WhatCannotBeReadCostsThePlanOnly) {
  status(kMiB);
  std::ofstream(directory_.path() / "spool.43.runtime.0") << "no spool";
  std::ofstream(directory_.path() / "spool.x.runtime.0") << "no number";
  std::ofstream(directory_.path() / "status.43") << "no status";
  iterations(6);
  planner_.look();
  EXPECT_TRUE(planned());
  EXPECT_FALSE(fs::exists(directory_.path() / "plan.43"));
}

}  // namespace
}  // namespace tferry::cli
