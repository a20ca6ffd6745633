#include "analyzer/live/live_plan.hpp"

#include "analyzer/workload/transformer.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

namespace tferry::analyzer {
namespace {

constexpr std::uint64_t kChunk = 64 << 10;

/// Writes what the hooks of a job with this workload would.
class Hooks {
 public:
  Hooks(const Workload& workload, const std::string& path, bool timed = false)
      : workload_(workload), timed_(timed) {
    std::string error;
    spool_ = trace::SpoolWriter::open(path, {}, &error);
    EXPECT_TRUE(spool_) << error;
    spool_->append(trace::DeviceRecord{.time_ns = 1, .device = 0});
    for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
      if (workload.tensors[t].persistent) allocate(t);
    }
  }

  void iteration() {
    for (std::uint32_t i = 0; i < workload_.operations.size(); ++i) {
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (!workload_.tensors[t].persistent && workload_.tensors[t].birth == i) allocate(t);
      }
      launch(workload_.operations[i]);
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (!workload_.tensors[t].persistent && workload_.tensors[t].death == i && alive_.contains(t))
          free(t);
      }
    }
  }

  void close() { spool_->close(); }

 private:
  void allocate(std::uint32_t tensor) {
    alive_[tensor] = ++allocations_;
    spool_->append(trace::AllocationRecord{.time_ns = now_ += 10,
                                           .allocation = allocations_,
                                           .bytes = workload_.tensors[tensor].size,
                                           .reserved_bytes = workload_.tensors[tensor].size,
                                           .device = 0,
                                           .kind = trace::MemoryKind::kDevice});
  }
  void free(std::uint32_t tensor) {
    spool_->append(trace::FreeRecord{.time_ns = now_ += 10, .allocation = alive_.at(tensor)});
    alive_.erase(tensor);
  }
  void launch(const Operation& operation) {
    spool_->append(trace::KernelLaunchRecord{.time_ns = now_ += 1000,
                                             .operation = ++operations_,
                                             .name = spool_->intern(operation.name),
                                             .grid = {1, 1, 1},
                                             .block = {256, 1, 1},
                                             .device = 0});
    if (timed_) {
      spool_->append(trace::KernelActivityRecord{.time_ns = gpu_,
                                                 .end_ns = gpu_ + operation.duration_ns,
                                                 .correlation_id = static_cast<std::uint32_t>(operations_),
                                                 .device = 0});
      gpu_ += operation.duration_ns;
    }
    std::vector<trace::AccessEntry> entries;
    for (const Access& access : operation.accesses) {
      const auto held = alive_.find(access.tensor);
      if (held == alive_.end()) continue;
      trace::AccessEntry entry;
      entry.allocation = held->second;
      entry.kind = trace::AccessKind::kMayTouch;
      entry.known_by = trace::KnownBy::kArgument;
      entries.push_back(entry);
    }
    if (!entries.empty()) spool_->append_accesses(now_, operations_, entries);
  }

  const Workload& workload_;
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::map<std::uint32_t, std::uint64_t> alive_;  ///< allocation by tensor
  std::uint64_t allocations_ = 0, operations_ = 0;
  std::int64_t now_ = 1000, gpu_ = 5000;
  bool timed_;
};

Workload small_transformer() {
  return transformer_training({.layers = 2, .width = 256, .batch = 2, .context = 256, .vocabulary = 4000});
}

void read_all(trace::SpoolReader& reader, LiveRecording& recording) {
  while (const auto record = reader.next()) recording.add(*record);
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
  trace::SpoolReader reader(directory / "spool");
  LiveRecording recording;
  read_all(reader, recording);
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
  trace::SpoolReader reader(directory / "spool");
  LiveRecording recording;
  read_all(reader, recording);
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
  LiveRecording recording;
  std::optional<trace::SpoolReader> reader;
  for (int i = 0; i < 2; ++i) hooks.iteration();
  hooks.close();
  reader.emplace(directory / "spool");
  read_all(*reader, recording);
  EXPECT_EQ(make_live_plan(recording, two_thirds(workload)).reason,
            "its operations show no clear period yet");
}

TEST(LivePlan, WhatCannotBePlannedIsSaid) {
  const trace::TestDirectory directory;
  const Workload workload = small_transformer();
  Hooks hooks(workload, directory / "spool");
  for (int i = 0; i < 4; ++i) hooks.iteration();
  hooks.close();
  trace::SpoolReader reader(directory / "spool");
  LiveRecording recording;
  read_all(reader, recording);
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
  trace::SpoolReader reader(directory / "spool");
  LiveRecording recording;
  read_all(reader, recording);
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
