// Random programs, run on the software driver with the runtime in front of it and compared byte for byte with
// a model (tests/runtime/machine.hpp). To replay one: TFERRY_TEST_SEED=N random_programs_test.
#include "tests/runtime/machine.hpp"
#include "tests/runtime/random.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace tferry::runtime_test {
namespace {

constexpr std::uint64_t kProgramsOfTest = 125;
constexpr std::uint64_t kFaultyProgramsOfTest = 100;

std::string text_of(const Program& program) {
  std::ostringstream out;
  out << program;
  return out.str();
}

/// What varies beside the program itself.
struct Setting {
  std::size_t budget_chunks;
  std::uint64_t jitter;
};

/// From "everything fits" down to "barely the widest operations".
Setting setting_of(const Program& program) {
  Random random(program.seed ^ 0x5e771465);
  const bool all_fits = random.one_in(6);
  const std::size_t least = program.least_chunks + random.below(8);
  return {all_fits ? program.most_chunks + 2 : least, random.one_in(3) ? program.seed + 1 : 0};
}

Outcome run(const Api& api, const Program& program, const Setting& setting) {
  Drivers& drivers = Drivers::get();
  drivers.set_budget(setting.budget_chunks * drivers.chunk());
  drivers.set_jitter(setting.jitter);
  drivers.clear_peaks();
  Outcome outcome = Machine(api, program).run();
  drivers.set_jitter(0);
  return outcome;
}

/// The runtime's books when everything is freed.
void expect_clean_books(const Outcome& outcome) {
  const trace::DeviceStatus& device = Drivers::get().device();
  EXPECT_EQ(0, outcome.allocated_at_end);
  EXPECT_EQ(0, outcome.parked_at_end);
  EXPECT_EQ(0, device.audit_failures);
  EXPECT_EQ(0U, Drivers::get().statistics().memory_used);
  EXPECT_EQ(0U, Drivers::get().statistics().mappings);
}

void expect_right(std::uint64_t seed) {
  Drivers& drivers = Drivers::get();
  const Program program = generate(seed, drivers.chunk());
  const Setting setting = setting_of(program);
  const Outcome outcome = run(drivers.ferried(), program, setting);
  ASSERT_EQ("", outcome.difference) << text_of(program);
  ASSERT_EQ("", outcome.first_error) << text_of(program);
  const std::size_t trap = std::getenv("TFERRY_VERIFY") != nullptr ? drivers.chunk() : 0;
  EXPECT_LE(drivers.statistics().memory_peak, setting.budget_chunks * drivers.chunk() + trap)
      << "seed " << seed;
  expect_clean_books(outcome);
}

std::uint64_t seed_of_environment() {
  const char* text = std::getenv("TFERRY_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

class RandomPrograms : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPrograms, GiveTheSameBytesUnderEveryBudget) {
  const std::int64_t evictions = Drivers::get().device().evictions;
  const std::int64_t fetches = Drivers::get().device().fetches;
  if (const std::uint64_t seed = seed_of_environment()) return expect_right(seed);
  for (std::uint64_t i = 0; i < kProgramsOfTest; ++i) {
    expect_right(GetParam() * kProgramsOfTest + i + 1);
    if (HasFatalFailure()) return;
  }
  EXPECT_LT(evictions + 100, Drivers::get().device().evictions);
  EXPECT_LT(fetches + 100, Drivers::get().device().fetches);
  if (std::getenv("TFERRY_VERIFY") != nullptr) {
    EXPECT_LT(100, Drivers::get().device().audit_checks);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomPrograms, ::testing::Range<std::uint64_t>(0, 8));

/// The programs themselves are sound: without the runtime they give what the model says.
TEST(NativePrograms, GiveTheModelsBytes) {
  Drivers& drivers = Drivers::get();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Program program = generate(seed, drivers.chunk());
    const Outcome outcome = run(drivers.native(), program, {program.most_chunks + 2, seed % 2 * seed});
    ASSERT_EQ("", outcome.difference) << text_of(program);
    ASSERT_EQ("", outcome.first_error) << text_of(program);
  }
}

class FaultyDriver : public ::testing::TestWithParam<std::uint64_t> {};

/// A call of the driver fails, once or from then on: the program may meet errors, never wrong bytes, and it
/// comes to an end.
void expect_right_or_refused(std::uint64_t seed) {
  // What the runtime calls, and the program calls where it can go on after a failure.
  static constexpr const char* kCalls[] = {"cuMemCreate",
                                           "cuMemMap",
                                           "cuMemSetAccess",
                                           "cuMemUnmap",
                                           "cuMemRelease",
                                           "cuMemAddressReserve",
                                           "cuMemHostAlloc",
                                           "cuEventCreate",
                                           "cuEventRecord",
                                           "cuEventQuery",
                                           "cuEventSynchronize",
                                           "cuStreamWaitEvent",
                                           "cuStreamCreate",
                                           "cuMemcpyHtoDAsync_v2",
                                           "cuMemcpyDtoHAsync_v2",
                                           "cuStreamSynchronize",
                                           "cuCtxGetCurrent",
                                           "cuCtxGetDevice",
                                           "cuStreamIsCapturing",
                                           "cuMemsetD8Async",
                                           "cuLaunchKernel",
                                           "cuPointerGetAttribute",
                                           "cuFuncGetParamInfo",
                                           "cuKernelGetParamInfo",
                                           "cuMemGetInfo_v2",
                                           "cuStreamGetCtx",
                                           "cuThreadExchangeStreamCaptureMode",
                                           "cuGraphGetNodes",
                                           "cuStreamBeginCapture_v2",
                                           "cuStreamEndCapture",
                                           "cuGraphInstantiateWithFlags",
                                           "cuGraphLaunch",
                                           "cuMemAlloc_v2",
                                           "cuMemAllocAsync",
                                           "cuMemFree_v2",
                                           "cuMemFreeAsync",
                                           "cuMemcpyDtoH_v2",
                                           "cuCtxSynchronize",
                                           "cuMemGetAllocationGranularity"};
  Drivers& drivers = Drivers::get();
  Random random(seed ^ 0xfa177);
  const Program program = generate(seed, drivers.chunk());
  const char* call = kCalls[random.below(std::size(kCalls))];
  const auto nth = static_cast<std::int64_t>(1 + random.below(random.one_in(2) ? 6 : 60));
  const int error = random.one_in(2) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
  // A call that the program needs, too, fails once only; one that it never makes can fail for good.
  const bool onwards = std::string_view(call).starts_with("cuMem") &&
                       !std::string_view(call).starts_with("cuMemc") &&
                       !std::string_view(call).starts_with("cuMems") && random.one_in(4);
  SCOPED_TRACE(std::string(call) + ", call " + std::to_string(nth) + (onwards ? " and on" : "") + ", seed " +
               std::to_string(seed));
  ASSERT_EQ(0, drivers.fail(call, nth, error, onwards ? 1 : 0));
  const Outcome outcome = run(drivers.ferried(), program, setting_of(program));
  drivers.clear_faults();
  if (drivers.statistics().memory_used != 0) drivers.ferried().cuDevicePrimaryCtxReset_v2(0);
  ASSERT_EQ("", outcome.difference) << text_of(program);
  EXPECT_EQ(0, drivers.statistics().illegal_accesses) << text_of(program);
  if (!outcome.abandoned) {
    EXPECT_EQ(0, outcome.allocated_at_end);
    EXPECT_EQ(0, outcome.parked_at_end);
  }
}

TEST_P(FaultyDriver, GivesErrorsButNeverWrongBytes) {
  if (const std::uint64_t seed = seed_of_environment()) return expect_right_or_refused(seed);
  for (std::uint64_t i = 0; i < kFaultyProgramsOfTest; ++i) {
    expect_right_or_refused(GetParam() * kFaultyProgramsOfTest + i + 1);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, FaultyDriver, ::testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace tferry::runtime_test
