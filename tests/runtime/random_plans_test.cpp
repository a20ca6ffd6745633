// Random programs that repeat themselves, more or less, under random plans that change while they run.
// Whatever the plans say, results are those of the model. To replay one: TFERRY_TEST_SEED=N
// random_plans_test.
#include "tests/runtime/drivers.hpp"
#include "tests/runtime/planned_program.hpp"
#include "tests/runtime/random.hpp"
#include "tests/runtime/surprising_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace tferry::runtime_test {
namespace {

using Kind = PlanStory::Event::Kind;

constexpr std::uint64_t kProgramsOfTest = 40;
constexpr std::size_t kWidest = 3 * 3;  ///< chunks that one operation names, at most

/// Tensors of one to three chunks that come and go, and operations on those of one size.
PlannedProgram random_program(Random& random, std::size_t chunk) {
  PlannedProgram program(chunk);
  struct Alive {
    int tensor;
    std::size_t chunks;
    bool persistent;
  };
  std::vector<Alive> alive;
  const std::size_t weights = 2 + random.below(5);
  for (std::size_t i = 0; i < weights; ++i) {
    const std::size_t chunks = 1 + random.below(3);
    alive.push_back({program.persistent(chunks), chunks, true});
  }
  const std::size_t steps = 10 + random.below(30);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto grid = static_cast<unsigned>(1 + random.below(6));
    if (random.one_in(3) || step == 0) {
      const std::size_t chunks = 1 + random.below(3);
      alive.push_back({program.allocate(chunks), chunks, false});
      program.fill(alive.back().tensor, grid);
      continue;
    }
    const Alive chosen = alive[random.below(alive.size())];
    std::vector<int> same;
    for (const Alive& other : alive) {
      if (other.chunks == chosen.chunks && other.tensor != chosen.tensor) same.push_back(other.tensor);
    }
    if (same.size() >= 2 && !random.one_in(4)) {
      const std::size_t a = random.below(same.size());
      const std::size_t b = (a + 1 + random.below(same.size() - 1)) % same.size();
      program.mix(chosen.tensor, same[a], same[b], grid);
    } else {
      program.add(chosen.tensor, grid);
    }
    if (random.one_in(3) && !chosen.persistent) {
      program.free(chosen.tensor);
      std::erase_if(alive, [&](const Alive& other) { return other.tensor == chosen.tensor; });
    }
  }
  program.add(alive[0].tensor, 77);  // tells one iteration from two
  for (const Alive& left : alive) {
    if (!left.persistent) program.free(left.tensor);
  }
  return program;
}

/// A plan for the program in which pieces leave and return at random, needed or not.
trace::FlatPlan random_plan(const PlannedProgram& program, Random& random) {
  PlanStory story(program.chunk());
  struct Away {
    int tensor;
    std::uint32_t first;
    std::uint32_t count;
  };
  std::vector<int> alive;
  std::vector<Away> away;
  for (std::size_t i = 0; i < program.story().tensors().size(); ++i) {
    const auto& tensor = program.story().tensors()[i];
    if (tensor.persistent) alive.push_back(story.persistent(tensor.bytes));
  }
  const auto come_back = [&](std::size_t which) {
    story.come_back(away[which].tensor, away[which].first, away[which].count);
    away.erase(away.begin() + static_cast<std::ptrdiff_t>(which));
  };
  std::uint32_t operations = 0;
  const std::uint64_t sparse = 1 + random.below(6);
  for (const PlanStory::Event& event : program.story().events()) {
    while (!away.empty() && random.one_in(4) && operations < program.story().operations())
      come_back(random.below(away.size()));
    if (event.kind == Kind::kAllocate) {
      alive.push_back(
          story.allocate(program.story().tensors()[static_cast<std::size_t>(event.tensor)].bytes));
    } else if (event.kind == Kind::kFree) {
      std::erase(alive, event.tensor);
      const bool freed_while_away = random.one_in(2);
      for (std::size_t i = away.size(); i > 0; --i) {
        if (away[i - 1].tensor != event.tensor) continue;
        if (freed_while_away) {
          away.erase(away.begin() + static_cast<std::ptrdiff_t>(i) - 1);
        } else {
          come_back(i - 1);
        }
      }
      story.free(event.tensor);
    } else if (event.kind == Kind::kOperation) {
      const bool last = ++operations == program.story().operations();
      for (std::size_t i = away.size(); last && i > 0; --i) come_back(i - 1);
      story.operation(event.signature, event.names);
      while (!last && random.one_in(sparse) && !alive.empty()) {
        const int tensor = alive[random.below(alive.size())];
        const std::uint32_t pieces = story.tensors()[static_cast<std::size_t>(tensor)].pieces;
        const auto first = static_cast<std::uint32_t>(random.below(pieces));
        const auto count = static_cast<std::uint32_t>(1 + random.below(pieces - first));
        const bool is_away =
            std::any_of(away.begin(), away.end(), [&](const Away& a) { return a.tensor == tensor; });
        if (is_away) break;
        story.leave(tensor, first, count);
        away.push_back({tensor, first, count});
      }
    }
  }
  return story.plan(static_cast<std::uint32_t>(random.below(3)));
}

struct Seen {
  std::int64_t adoptions = 0;
  std::int64_t followed = 0;
  std::int64_t done = 0;
  std::int64_t conflicts = 0;
  std::int64_t late = 0;
};
Seen seen() {
  const trace::DeviceStatus& device = Drivers::get().device();
  return {device.plan_adoptions, device.plan_iterations_followed, device.plan_actions_done,
          device.plan_conflicts, device.plan_late_fetches};
}

/// A device and a plan in the run directory.
struct Situation {
  Situation(const trace::FlatPlan& plan, Random& random) {
    Drivers& drivers = Drivers::get();
    const std::size_t chunks = plan.budget_bytes / drivers.chunk();
    budget = (std::max<std::size_t>(chunks, 2 * kWidest) + random.below(3)) * drivers.chunk();
    drivers.set_budget(budget);
    drivers.set_jitter(random.one_in(3) ? random.word() : 0);
    drivers.clear_peaks();
    const Api& api = drivers.ferried();
    EXPECT_EQ(CUDA_SUCCESS, api.cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_EQ(CUDA_SUCCESS, api.cuCtxSetCurrent(context));
    EXPECT_EQ(CUDA_SUCCESS, api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    offer(plan);
  }
  ~Situation() {
    Drivers& drivers = Drivers::get();
    drivers.clear_faults();
    drivers.set_jitter(0);
    EXPECT_EQ(CUDA_SUCCESS, drivers.ferried().cuDevicePrimaryCtxReset_v2(0));
    // What a failed call kept mapped.
    if (drivers.statistics().memory_used != 0) drivers.ferried().cuDevicePrimaryCtxReset_v2(0);
  }
  Situation(const Situation&) = delete;
  Situation& operator=(const Situation&) = delete;
  static void offer(const trace::FlatPlan& plan) {
    std::string error;
    EXPECT_TRUE(write_plan(Drivers::get().live_plan_path(), plan, error)) << error;
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  std::size_t budget = 0;
};

void expect_right(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Drivers& drivers = Drivers::get();
  Random random(seed);
  const PlannedProgram program = random_program(random, drivers.chunk());
  {
    const trace::FlatPlan plan = random_plan(program, random);
    const Situation situation(plan, random);
    SurprisingRun job(program, drivers.ferried(), situation.stream, random);
    const std::size_t surprises = random.one_in(4) ? 0 : 3 + random.below(40);
    for (int iteration = 0; iteration < 14; ++iteration) {
      job.iterate(iteration < 3 || iteration % 4 == 3 ? 0 : surprises);
      const std::string difference = iteration % 3 == 2 ? job.run.difference() : "";
      ASSERT_EQ("", difference) << "after iteration " << iteration;
      if (random.one_in(4)) Situation::offer(random_plan(program, random));
    }
    ASSERT_EQ("", job.run.difference());
    job.end();
    const std::size_t trap = std::getenv("TFERRY_VERIFY") != nullptr ? drivers.chunk() : 0;
    EXPECT_LE(drivers.statistics().memory_peak, situation.budget + trap);
  }
  EXPECT_EQ(0, drivers.device().audit_failures);
  EXPECT_EQ(0, drivers.statistics().illegal_accesses);
  EXPECT_EQ(0U, drivers.statistics().memory_used);
  EXPECT_EQ(0U, drivers.statistics().mappings);
}

/// A call of the driver fails while a plan is looked for, put in place or followed: the program may meet
/// errors, never wrong bytes.
void expect_right_or_refused(std::uint64_t seed) {
  static constexpr const char* kCalls[] = {"cuMemCreate",          "cuMemMap",
                                           "cuMemSetAccess",       "cuMemUnmap",
                                           "cuMemHostAlloc",       "cuMemHostRegister_v2",
                                           "cuEventCreate",        "cuEventRecord",
                                           "cuEventQuery",         "cuEventSynchronize",
                                           "cuStreamWaitEvent",    "cuStreamSynchronize",
                                           "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
                                           "cuLaunchKernel",       "cuMemAlloc_v2"};
  Drivers& drivers = Drivers::get();
  Random random(seed ^ 0xfa17);
  const PlannedProgram program = random_program(random, drivers.chunk());
  const char* call = kCalls[random.below(std::size(kCalls))];
  const auto nth = static_cast<std::int64_t>(1 + random.below(random.one_in(2) ? 6 : 40));
  const int error = random.one_in(2) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  const std::size_t when = random.below(6);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + call + " call " + std::to_string(nth));
  {
    const Situation situation(random_plan(program, random), random);
    SurprisingRun job(program, drivers.ferried(), situation.stream, random);
    try {
      for (std::size_t iteration = 0; iteration < 8; ++iteration) {
        if (iteration == when) {
          ASSERT_EQ(0, drivers.fail(call, nth, error, 0));
        }
        job.iterate(iteration % 4 == 3 ? 8 : 0);
      }
    } catch (const std::runtime_error&) {
      // The program was told; what it had done by then is right.
    }
    drivers.clear_faults();
    try {
      EXPECT_EQ("", job.run.difference());
    } catch (const std::runtime_error&) {
      // Where nothing can be moved any more, not everything can be read back.
    }
  }
  EXPECT_EQ(0, drivers.statistics().illegal_accesses);
}

class RandomPlans : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPlans, GiveTheSameBytesWhateverTheySay) {
  if (const char* text = std::getenv("TFERRY_TEST_SEED"))
    return expect_right(std::strtoull(text, nullptr, 10));
  const Seen before = seen();
  for (std::uint64_t i = 0; i < kProgramsOfTest; ++i) {
    expect_right(GetParam() * kProgramsOfTest + i + 1);
    if (HasFatalFailure()) return;
  }
  const Seen after = seen();
  EXPECT_LT(before.adoptions + 40, after.adoptions);
  EXPECT_LT(before.followed + 40, after.followed);
  EXPECT_LT(before.done + 100, after.done);
  EXPECT_LT(before.conflicts, after.conflicts);
  EXPECT_LT(before.late, after.late);
}

TEST_P(RandomPlans, GiveErrorsButNeverWrongBytesWhereTheDriverFails) {
  if (const char* text = std::getenv("TFERRY_TEST_SEED"))
    return expect_right_or_refused(std::strtoull(text, nullptr, 10));
  for (std::uint64_t i = 0; i < kProgramsOfTest; ++i) {
    expect_right_or_refused(GetParam() * kProgramsOfTest + i + 1);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomPlans, ::testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace tferry::runtime_test
