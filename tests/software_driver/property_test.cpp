#include "tests/software_driver/driver_fixture.hpp"
#include "tests/software_driver/range_allocator.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace tferry::software_driver {
namespace {

RC_GTEST_PROP(RangeAllocatorProperty, RangesNeverOverlapAndComeBack,
              (const std::vector<std::uint16_t>& choices)) {
  RangeAllocator ranges(4096);
  std::map<std::size_t, std::size_t> taken;
  for (const std::uint16_t choice : choices) {
    if (choice % 3 != 0 || taken.empty()) {
      const std::size_t size = 1 + choice % 500;
      const auto offset = ranges.take(size);
      if (!offset) continue;
      RC_ASSERT(*offset + size <= ranges.extent());
      const auto next = taken.lower_bound(*offset);
      // RC_ASSERT evaluates both sides of an operator, so the conditions are made before.
      const bool ends_before_next = next == taken.end() || next->first >= *offset + size;
      const bool begins_after_last =
          next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *offset;
      RC_ASSERT(ends_before_next);
      RC_ASSERT(begins_after_last);
      taken.emplace(*offset, size);
    } else {
      const auto at = std::next(taken.begin(), static_cast<std::ptrdiff_t>(choice % taken.size()));
      ranges.give(at->first, at->second);
      taken.erase(at);
    }
  }
  for (const auto& [offset, size] : taken) ranges.give(offset, size);
  RC_ASSERT(ranges.empty());
  RC_ASSERT(ranges.take(4096) == std::size_t{0});
}

/// One step of a random program: buffer `to` becomes `from` plus `value`, on a stream.
struct Step {
  int stream;
  int to;
  int from;
  std::uint32_t value;
};

constexpr int kStreams = 3;
constexpr int kBuffers = 4;
constexpr std::size_t kWords = 512;
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kSteps = 8;
#else
constexpr std::size_t kSteps = 25;
#endif

std::vector<Step> random_steps() {
  const auto step = rc::gen::build<Step>(rc::gen::set(&Step::stream, rc::gen::inRange(0, kStreams)),
                                         rc::gen::set(&Step::to, rc::gen::inRange(0, kBuffers)),
                                         rc::gen::set(&Step::from, rc::gen::inRange(0, kBuffers)),
                                         rc::gen::set(&Step::value, rc::gen::inRange(1U, 99U)));
  return *rc::gen::container<std::vector<Step>>(kSteps, step);
}

class PropertyTest : public DriverTest {
 protected:
  void run(const std::vector<Step>& steps) {
    CUdeviceptr buffers[kBuffers] = {};
    CUevent last_use[kBuffers] = {};
    CUstream streams[kStreams] = {stream(), stream(CU_STREAM_DEFAULT), stream()};
    const CUfunction add = function("add");
    std::vector<std::uint32_t> expected[kBuffers];
    for (int b = 0; b < kBuffers; ++b) {
      EXPECT_OK(cuMemAlloc(&buffers[b], kWords * 4));
      EXPECT_OK(cuMemsetD32(buffers[b], static_cast<unsigned>(b), kWords));
      expected[b].assign(kWords, static_cast<std::uint32_t>(b));
      last_use[b] = event(CU_EVENT_DISABLE_TIMING);
    }
    EXPECT_OK(cuCtxSynchronize());
    for (Step step : steps) {
      const CUstream on = streams[step.stream];
      for (const int b : {step.to, step.from}) EXPECT_OK(cuStreamWaitEvent(on, last_use[b], 0));
      EXPECT_OK(cuMemcpyDtoDAsync(buffers[step.to], buffers[step.from], kWords * 4, on));
      std::uint64_t count = kWords;
      void* values[] = {&buffers[step.to], &count, &step.value};
      EXPECT_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, on, values, nullptr));
      for (const int b : {step.to, step.from}) EXPECT_OK(cuEventRecord(last_use[b], on));
      expected[step.to] = expected[step.from];
      for (auto& word : expected[step.to]) word += step.value;
    }
    EXPECT_OK(cuCtxSynchronize());
    for (int b = 0; b < kBuffers; ++b) {
      RC_ASSERT(words_at(buffers[b], kWords) == expected[b]);
      EXPECT_OK(cuMemFree(buffers[b]));
      EXPECT_OK(cuEventDestroy(last_use[b]));
    }
    for (const CUstream made : streams) EXPECT_OK(cuStreamDestroy(made));
  }
};

TEST_F(PropertyTest, ProgramsOrderedByEventsGiveTheSequentialResultUnderJitter) {
  std::uint64_t seed = 0;
  rc::check([&] {
    swd_set_jitter(++seed);
    run(random_steps());
  });
}

}  // namespace
}  // namespace tferry::software_driver
