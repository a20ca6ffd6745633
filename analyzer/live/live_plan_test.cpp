#include "analyzer/live/live_plan.hpp"

#include "analyzer/live/hooks_of_workload.hpp"
#include "analyzer/workload/transformer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tferry::analyzer {
namespace {

using testing_support::Hooks;
using testing_support::read_all;

constexpr std::uint64_t kChunk = 64 << 10;

Workload small_transformer() {
  return transformer_training({.layers = 2, .width = 256, .batch = 2, .context = 256, .vocabulary = 4000});
}

LivePlanOptions two_thirds(const Workload& workload) {
  LivePlanOptions options;
  options.budget_bytes = footprint(workload) * 2 / 3;
  options.memory = {kChunk, kChunk};
  options.name = "live";
  options.planner.rounds = 15;
  return options;
}

TEST(LivePlan, IsMadeFromWhatTheHooksSee) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool");
  for (int i = 0; i < 4; ++i) hooks.iteration();
  hooks.close();
  const LiveRecording recording = read_all(directory / "spool");
  EXPECT_EQ(recording.device(), 0);
  EXPECT_EQ(recording.operations(), 4 * workload.operations.size());

  const LivePlan made = make_live_plan(recording, two_thirds(workload));
  ASSERT_TRUE(made.plan) << made.reason;
  EXPECT_GE(made.iterations, 3u);
  EXPECT_GT(made.moves, 0u);
  const trace::FlatPlan& plan = *made.plan;
  EXPECT_EQ(trace::flat_plan_error(plan), "");
  EXPECT_EQ(plan.operations.size(), workload.operations.size());
  EXPECT_EQ(plan.tensors.size(), workload.tensors.size());
  EXPECT_EQ(plan.predicted_ns, 0) << "times were assumed";
  EXPECT_FALSE(plan.leaves.empty());
  std::multiset<std::uint64_t> expected, found;
  for (const Operation& operation : workload.operations)
    expected.insert(trace::OperationSignature::launch(operation.name, {1, 1, 1}, {256, 1, 1}));
  for (const trace::FlatPlan::Operation& operation : plan.operations) found.insert(operation.signature);
  EXPECT_EQ(found, expected);
}

TEST(LivePlan, HasAPredictionWhereTheRuntimeTookTimes) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool", true);
  for (int i = 0; i < 4; ++i) hooks.iteration();
  hooks.close();
  const LiveRecording recording = read_all(directory / "spool");
  const LivePlan made = make_live_plan(recording, two_thirds(workload));
  ASSERT_TRUE(made.plan) << made.reason;
  EXPECT_EQ(made.plan->in_memory_ns, compute_time(workload));
  EXPECT_GE(made.plan->bound_ns, made.plan->in_memory_ns);
  EXPECT_GE(made.plan->predicted_ns, made.plan->bound_ns);
  EXPECT_GT(made.plan->forced_bytes, 0);
}

TEST(LivePlan, IsMadeWhenThreeIterationsAreOver) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool");
  for (int i = 0; i < 2; ++i) hooks.iteration();
  hooks.close();
  EXPECT_EQ(make_live_plan(read_all(directory / "spool"), two_thirds(workload)).reason,
            "its operations show no clear period yet");
}

TEST(LivePlan, IsNotMadeWhereTheJobIsFasterThanItWouldBe) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool", true);
  for (int i = 0; i < 4; ++i) hooks.iteration();
  hooks.close();
  LivePlanOptions options = two_thirds(workload);
  options.link = {0.01, 0.01, 0.01, 0.01};
  const LivePlan made = make_live_plan(read_all(directory / "spool"), options);
  EXPECT_FALSE(made.plan);
  EXPECT_TRUE(made.reason.starts_with("a plan would take ")) << made.reason;
}

/// Why no plan is made for a job that has done this.
std::string reason_after(const std::function<void(Hooks&)>& job) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool");
  job(hooks);
  hooks.close();
  return make_live_plan(read_all(directory / "spool"), two_thirds(workload)).reason;
}

// A model that is being built repeats itself as well, and so do parts of an iteration.
TEST(LivePlan, IsNotMadeForWhatIsNotTheJobsIteration) {
  EXPECT_EQ(reason_after([](Hooks& hooks) {
              hooks.fit();
              for (int i = 0; i < 5; ++i) hooks.iteration();
            }),
            "what repeats itself moves nothing");
  EXPECT_EQ(reason_after([](Hooks& hooks) {
              hooks.hold(footprint(small_transformer()) * 3 / 2);
              for (int i = 0; i < 5; ++i) hooks.iteration();
            }),
            "what repeats itself names less than half of the memory");
  EXPECT_EQ(reason_after([](Hooks& hooks) {
              for (int i = 0; i < 5; ++i) {
                hooks.iteration();
                hooks.hold(footprint(small_transformer()) / 10);
              }
              hooks.iteration();
            }),
            "its memory still grows");
  EXPECT_EQ(reason_after([](Hooks& hooks) {
              for (int i = 0; i < 6; ++i) hooks.iteration();
              hooks.something_else(2 * static_cast<int>(small_transformer().operations.size()));
            }),
            "it does something else by now");
  EXPECT_EQ(reason_after([](Hooks& hooks) {
              for (int i = 0; i < 5; ++i) hooks.iteration();
              hooks.something_else(static_cast<int>(small_transformer().operations.size()) / 2);
              hooks.iteration();
            }),
            "its last iterations do not follow each other");
}

TEST(LivePlan, WhatCannotBePlannedIsSaid) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool");
  for (int i = 0; i < 4; ++i) hooks.iteration();
  hooks.close();
  const LiveRecording recording = read_all(directory / "spool");
  LivePlanOptions options = two_thirds(workload);
  options.budget_bytes = 1 << 20;
  const LivePlan made = make_live_plan(recording, options);
  EXPECT_FALSE(made.plan);
  EXPECT_NE(made.reason.find("alone touches"), std::string::npos) << made.reason;
}

// Pointers in device memory can be followed unseen.
TEST(LiveRecording, KnowsWhatStays) {
  const trace::TestDirectory directory;
  std::string error;
  auto spool = trace::SpoolWriter::open(directory / "spool", {}, &error);
  ASSERT_TRUE(spool) << error;
  spool->append(trace::DeviceRecord{.time_ns = 1, .device = 2});
  for (const std::uint64_t id : {7, 8}) {
    spool->append(trace::AllocationRecord{
        .time_ns = 2, .allocation = id, .bytes = 100, .device = 2, .kind = trace::MemoryKind::kDevice});
  }
  spool->append(trace::AllocationRecord{
      .time_ns = 2, .allocation = 9, .bytes = 100, .device = 3, .kind = trace::MemoryKind::kDevice});
  spool->append(trace::MemcpyActivityRecord{
      .time_ns = 30, .end_ns = 40, .bytes = 16, .correlation_id = 1, .device = 2});
  spool->append(trace::MemcpyCallRecord{.time_ns = 3, .operation = 1, .bytes = 16, .device = 2});
  spool->append(trace::GateRecord{.time_ns = 3, .operation = 1, .device = 2});
  trace::AccessEntry table;
  table.allocation = 8;
  table.known_by = trace::KnownBy::kTable;
  spool->append_accesses(3, 1, std::vector<trace::AccessEntry>{table});
  spool->append(
      trace::TransferRecord{.time_ns = 4, .bytes = 50, .device = 2, .kind = trace::TransferKind::kPark});
  spool->close();
  const LiveRecording recording = read_all(directory / "spool");
  const auto& allocations = recording.recording().recording.allocations;
  ASSERT_EQ(allocations.size(), 2u) << "the other GPU's are not for this plan";
  EXPECT_FALSE(allocations[0].stays);
  EXPECT_TRUE(allocations[1].stays);
  EXPECT_TRUE(recording.recording().recording.accesses.empty());
  EXPECT_TRUE(recording.recording().recording.operations[0].gated);
  EXPECT_EQ(recording.recording().recording.operations[0].end_ns, 40) << "told before the call was recorded";
  EXPECT_EQ(recording.bytes_out(), 50);
}

}  // namespace
}  // namespace tferry::analyzer
