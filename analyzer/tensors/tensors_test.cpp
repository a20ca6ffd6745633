#include "analyzer/tensors/tensors.hpp"

#include "analyzer/workload/validate.hpp"

#include <gtest/gtest.h>

namespace tferry::analyzer {
namespace {

/// Writes recordings as a program would run: every operation is called at the next microsecond and runs for
/// 700 ns.
class Job {
 public:
  std::uint32_t allocate(std::int64_t bytes, bool movable = true) {
    recording.allocations.push_back(
        {static_cast<std::int64_t>(recording.allocations.size()) + 1, bytes, now_ + 1, {}, movable});
    return static_cast<std::uint32_t>(recording.allocations.size() - 1);
  }
  void free(std::uint32_t allocation) { recording.allocations[allocation].free_ns = now_ + 2; }
  void run(std::uint32_t signature, const std::vector<std::uint32_t>& touched,
           AccessKind kind = AccessKind::kMayTouch) {
    now_ += 1000;
    const auto at = static_cast<std::uint32_t>(recording.operations.size());
    recording.operations.push_back(
        {signature, "op" + std::to_string(signature), now_, now_ + 100, now_ + 800, at});
    for (const std::uint32_t allocation : touched) recording.accesses.push_back({at, allocation, kind});
  }
  RecordedIteration analyse() const {
    std::vector<std::uint32_t> signatures;
    for (const RecordedOperation& operation : recording.operations) signatures.push_back(operation.signature);
    const auto iterations = find_iterations(signatures);
    if (!iterations) throw std::runtime_error("no iterations");
    return typical_iteration(recording, *iterations);
  }

  Recording recording;

 private:
  std::int64_t now_ = 0;
};

/// A weight, and per iteration two activations of one size and a gradient.
Job training(int iterations, int extra_allocation_in = -1) {
  Job job;
  const auto weight = job.allocate(1000);
  job.run(99, {weight});
  for (int i = 0; i < iterations; ++i) {
    const auto first = job.allocate(400);
    job.run(1, {weight, first});
    if (i == extra_allocation_in) job.free(job.allocate(77));
    const auto second = job.allocate(400);
    job.run(2, {first, second});
    const auto gradient = job.allocate(1000);
    job.run(3, {second, gradient, weight});
    job.free(second);
    job.run(4, {first, gradient});
    job.free(first);
    job.run(5, {weight, gradient});
    job.free(gradient);
  }
  job.run(98, {weight});
  return job;
}

std::vector<std::string> lines(const RecordedIteration& read) {
  std::vector<std::string> text;
  for (const MatchedTensor& matched : read.tensors) {
    const Tensor& tensor = matched.tensor;
    text.push_back(tensor.name +
                   (tensor.persistent
                        ? " persistent"
                        : " " + std::to_string(tensor.birth) + "-" + std::to_string(tensor.death)) +
                   ", " + std::to_string(matched.allocations.size()) + " instances, " +
                   std::to_string(matched.accesses) + " accesses");
  }
  return text;
}

TEST(Tensors, AreMatchedAcrossIterations) {
  const RecordedIteration read = training(6).analyse();
  EXPECT_EQ(read.regular.size(), 6u);
  EXPECT_EQ(lines(read), (std::vector<std::string>{"1000 bytes #0 persistent, 1 instances, 3 accesses",
                                                   "400 bytes #0 0-3, 6 instances, 3 accesses",
                                                   "400 bytes #1 1-2, 6 instances, 2 accesses",
                                                   "1000 bytes #1 2-4, 6 instances, 3 accesses"}));
  EXPECT_EQ(read.footprint_bytes, 2800);
  EXPECT_EQ(read.resident_bytes, 0);
  EXPECT_EQ(read.workload.operations[0].duration_ns, 700);
  EXPECT_EQ(read.workload.operations[1].gap_ns, 300);
  EXPECT_DOUBLE_EQ(read.iteration_ns, 5000);
  Workload workload = read.workload;
  workload.budget = 2800;
  EXPECT_NO_THROW(validate(workload));
}

TEST(Tensors, AnExtraAllocationOfAnotherSizeShiftsNothing) {
  const RecordedIteration plain = training(6).analyse();
  const RecordedIteration shifted = training(6, 2).analyse();
  EXPECT_EQ(lines(plain), lines(shifted));
  EXPECT_EQ(plain.workload.tensors, shifted.workload.tensors);
  EXPECT_EQ(shifted.sporadic_allocations, 1);
}

TEST(Tensors, AnExtraAllocationOfTheSameSizeChangesOneIterationOnly) {
  Job job;
  for (int i = 0; i < 6; ++i) {
    const auto first = job.allocate(400);
    job.run(1, {first});
    const auto extra = i == 3 ? job.allocate(400) : 0;
    job.run(2, {first});
    const auto second = job.allocate(400);
    job.run(3, {first, second});
    if (i == 3) job.free(extra);
    job.free(first);
    job.run(4, {second});
    job.free(second);
  }
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(lines(read), (std::vector<std::string>{"400 bytes #0 0-2, 6 instances, 3 accesses",
                                                   "400 bytes #1 2-3, 6 instances, 2 accesses"}));
  EXPECT_EQ(read.sporadic_allocations, 2);
}

TEST(Tensors, WhatCannotMoveIsLeftOutAndCounted) {
  Job job = training(5);
  job.recording.allocations[0].movable = false;
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(read.resident_bytes, 1000);
  EXPECT_EQ(read.workload.tensors.size(), 3u);
  EXPECT_EQ(read.footprint_bytes, 2800);
}

TEST(Tensors, TheLossOfAnIterationLivesIntoTheNext) {
  Job job;
  std::uint32_t loss = 0;
  for (int i = 0; i < 6; ++i) {
    const auto next = job.allocate(500);
    job.run(1, {next});
    job.run(2, {});
    if (i > 0) job.free(loss);
    job.run(3, {next});
    loss = next;
    job.run(4, {});
  }
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(lines(read), (std::vector<std::string>{"1000 bytes #0 persistent, 6 instances, 2 accesses"}));
  EXPECT_EQ(read.long_lives, 1);
  EXPECT_EQ(read.resident_bytes, 1000);
}

TEST(Tensors, MissingAndReversedTimesCountAsNone) {
  Job job = training(5);
  for (RecordedOperation& operation : job.recording.operations) {
    if (operation.signature == 2) operation.start_ns.reset();
    if (operation.signature == 3) std::swap(operation.start_ns, operation.end_ns);
  }
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(read.untimed_operations, 2);
  EXPECT_EQ(read.workload.operations[1].duration_ns, 0);
}

}  // namespace
}  // namespace tferry::analyzer
