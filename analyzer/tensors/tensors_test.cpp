#include "analyzer/tensors/tensors.hpp"

#include "analyzer/tensors/count_memory.hpp"
#include "analyzer/tensors/memory_events.hpp"
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
        {signature, label("op" + std::to_string(signature)), now_, now_ + 100, now_ + 800, at});
    for (const std::uint32_t allocation : touched) recording.accesses.push_back({at, allocation, kind});
  }
  std::uint32_t label(const std::string& text) { return recording.names.intern(text); }
  void pass(std::int64_t nanoseconds) { now_ += nanoseconds; }
  Iterations iterations() const {
    std::vector<std::uint32_t> signatures;
    for (const RecordedOperation& operation : recording.operations) signatures.push_back(operation.signature);
    const auto found = find_iterations(signatures);
    if (!found) throw std::runtime_error("no iterations");
    return *found;
  }
  RecordedIteration analyse() const { return typical_iteration(recording, iterations()); }

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
                                                   "400 bytes #1 2-3, 5 instances, 2 accesses"}));
  EXPECT_EQ(read.sporadic_allocations, 2);
}

TEST(Tensors, WhatIsBornElsewhereIsNoInstance) {
  Job job;
  for (int i = 0; i < 6; ++i) {
    const auto early = i == 2 ? job.allocate(400) : 0;
    job.run(1, {});
    const auto usual = i == 2 ? early : job.allocate(400);
    job.run(2, {usual});
    job.run(3, {usual});
    job.free(usual);
  }
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(lines(read), (std::vector<std::string>{"400 bytes #0 1-2, 5 instances, 2 accesses"}));
  EXPECT_EQ(read.tensors[0].iterations.size(), 5u);
  EXPECT_EQ(read.sporadic_allocations, 1);
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
  EXPECT_EQ(lines(read), (std::vector<std::string>{"500 bytes #0 persistent, 6 instances, 2 accesses"}));
  EXPECT_EQ(read.long_lives, 1);
  EXPECT_EQ(read.long_life_bytes, 1000);
  EXPECT_EQ(read.resident_bytes, 1000);
}

/// "alloc 0@3": tensor 0 is allocated before operation 3.
std::vector<std::string> events(const RecordedIteration& read) {
  std::vector<std::string> text;
  for (const MemoryEvent& event : read.events) {
    text.push_back((event.frees ? "free " : "alloc ") + std::to_string(event.tensor) + "@" +
                   std::to_string(event.position));
  }
  return text;
}

TEST(Tensors, TellInWhichOrderTheProgramAllocatesAndFrees) {
  const auto run = [](bool free_first) {
    Job job;
    for (int i = 0; i < 4; ++i) {
      const auto first = job.allocate(400);
      job.run(1, {first});
      if (free_first) job.free(first);
      if (free_first) job.pass(5);
      const auto second = job.allocate(300);
      if (!free_first) job.pass(5);
      if (!free_first) job.free(first);
      job.run(2, {second});
      job.free(second);
      job.pass(5);
    }
    return events(job.analyse());
  };
  EXPECT_EQ(run(true), (std::vector<std::string>{"free 1@0", "alloc 0@0", "free 0@1", "alloc 1@1"}));
  EXPECT_EQ(run(false), (std::vector<std::string>{"free 1@0", "alloc 0@0", "alloc 1@1", "free 0@1"}));
}

// Two instances of one tensor need two addresses, though no operation runs while both are alive.
TEST(Tensors, WhatIsFreedAfterItsSuccessorWasAllocatedHasALongLife) {
  Job job;
  std::optional<std::uint32_t> held;
  for (int i = 0; i < 5; ++i) {
    const auto next = job.allocate(400);
    job.pass(5);
    if (held) job.free(*held);
    held = next;
    for (std::uint32_t k = 1; k < 4; ++k) job.run(k, {next});
  }
  EXPECT_EQ(job.analyse().long_lives, 1);
}

TEST(Tensors, AreNamedInTheOrderOfTheArguments) {
  Job job;
  const auto weight = job.allocate(1000), bias = job.allocate(100);
  for (int i = 0; i < 4; ++i) {
    job.run(1, {bias, weight, bias});
    job.run(2, {weight, bias});
  }
  EXPECT_EQ(job.analyse().named, (std::vector<std::vector<std::uint32_t>>{{1, 0}, {0, 1}}));
}

TEST(Tensors, KnowWhichAllocationOfTheirSizeTheyAre) {
  Job job = training(4);
  for (RecordedAllocation& allocation : job.recording.allocations) {
    allocation.requested = allocation.bytes;
    allocation.bytes = 1024;
  }
  const RecordedIteration read = job.analyse();
  ASSERT_EQ(read.tensors.size(), 4u);
  EXPECT_EQ(read.tensors[2].requested, 400);
  EXPECT_EQ(read.tensors[2].ordinal, 1u) << "sizes rounded to the same are still different sizes";
  EXPECT_EQ(read.tensors[3].requested, 1000);
  EXPECT_EQ(read.tensors[3].ordinal, 0u);
}

// Gradients live from the backward pass to the start of the next step: fewest bytes are alive after that.
TEST(Boundary, MovesToWhereTheFewestBytesAreAlive) {
  Job job;
  const auto weight = job.allocate(1000);
  std::optional<std::uint32_t> gradient;
  for (int i = 0; i < 5; ++i) {
    job.run(1, {weight});
    job.run(2, {weight});
    if (gradient) job.free(*gradient);
    job.pass(5);
    gradient = job.allocate(1000);
    job.run(3, {weight, *gradient});
    job.run(4, {weight, *gradient});
  }
  const auto found = job.iterations();
  EXPECT_EQ(found.spans.front(), (IterationSpan{0, 4}));
  const Iterations moved = move_boundary(job.recording, found, typical_iteration(job.recording, found));
  EXPECT_EQ(moved.spans, (std::vector<IterationSpan>{{2, 6}, {6, 10}, {10, 14}, {14, 18}}));
  EXPECT_EQ(events(typical_iteration(job.recording, moved)),
            (std::vector<std::string>{"free 1@0", "alloc 1@0"}));
}

TEST(Boundary, StaysWhereNothingIsGained) {
  const Job job = training(5);
  const auto found = job.iterations();
  EXPECT_EQ(move_boundary(job.recording, found, typical_iteration(job.recording, found)).spans, found.spans);
}

// A job can be recorded while it swaps: waits for its memory are not the program's own idle times.
TEST(Tensors, WaitsForMemoryAreNoIdleTimes) {
  Job job = training(5);
  EXPECT_EQ(job.analyse().workload.operations[2].gap_ns, 300);
  for (std::size_t i = 0; i < job.recording.operations.size(); ++i) {
    RecordedOperation& operation = job.recording.operations[i];
    if (operation.signature != 3) continue;
    operation.gated = true;
    operation.start_ns = *operation.start_ns + 50;
  }
  EXPECT_EQ(job.analyse().workload.operations[2].gap_ns, 0);
  job.recording.operations[3 + 5].gated = false;  // one iteration tells
  EXPECT_EQ(job.analyse().workload.operations[2].gap_ns, 350);
}

TEST(CountMemory, FollowsTheRunsRules) {
  constexpr std::int64_t kMiB = 1 << 20;
  Recording recording;
  for (const std::int64_t bytes : {kMiB, kMiB + 1, 5 * kMiB}) {
    recording.allocations.push_back({1, 8 * kMiB, 0, {}, true, bytes});
  }
  recording.allocations.push_back(recording.allocations.back());
  recording.allocations.back().stays = true;
  count_memory(recording, trace::MemoryRules::with_chunk(2 * kMiB));
  std::vector<std::pair<std::int64_t, bool>> counted;
  for (const RecordedAllocation& allocation : recording.allocations)
    counted.emplace_back(allocation.bytes, allocation.movable);
  EXPECT_EQ(counted, (std::vector<std::pair<std::int64_t, bool>>{
                         {kMiB, false}, {2 * kMiB, false}, {6 * kMiB, true}, {6 * kMiB, false}}));
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

std::vector<std::string> names(const RecordedIteration& read) {
  std::vector<std::string> names;
  for (const MatchedTensor& matched : read.tensors) names.push_back(matched.tensor.name);
  return names;
}

TEST(Tensors, AreCalledWhatTheProgramCallsMostOfTheirAllocations) {
  Job job = training(6);  // allocations: the weight, then two activations and a gradient in each iteration
  auto& allocations = job.recording.allocations;
  allocations[0].label = job.label("weight head");
  for (const std::size_t first : {1u, 4u, 7u})
    allocations[first].label = allocations[first + 1].label = job.label("activation mlp");
  allocations[10].label = job.label("workspace mlp");
  const RecordedIteration read = job.analyse();
  EXPECT_EQ(names(read), (std::vector<std::string>{"weight head", "activation mlp #0", "activation mlp #1",
                                                   "1000 bytes #0"}));
  EXPECT_EQ(read.workload.tensors[1].name, "activation mlp #0");
}

TEST(Tensors, HaveNamesOfTheirOwnThatCanBeWrittenAnywhere) {
  Job job = training(6);
  auto& allocations = job.recording.allocations;
  allocations[0].label = job.label("1000 bytes #0");
  for (std::size_t first = 1; first < allocations.size(); first += 3) {
    allocations[first].label = job.label("two\nlines");
    allocations[first + 1].label = job.label("\xff");
  }
  EXPECT_EQ(names(job.analyse()),
            (std::vector<std::string>{"1000 bytes #0", "400 bytes #0", "400 bytes #1", "1000 bytes #1"}));
}

}  // namespace
}  // namespace tferry::analyzer
