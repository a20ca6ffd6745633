#include "samples/layers/schedule.hpp"

#include "samples/layers/array_machine.hpp"
#include "samples/layers/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tferry::samples {
namespace {

LayersOptions small(int buffers, int iterations) {
  LayersOptions options;
  options.buffers = buffers;
  options.mib = 1;
  options.iterations = iterations;
  options.hidden = std::min(2, options.layers());
  return options;
}

void no_report(int, const Sums&, std::int64_t) {}

/// A device that loses one write: the quarter that `copy` should have changed keeps its old contents.
class ForgetfulMachine final : public ArrayMachine {
 public:
  void copy(StreamId, Part, Part) override {}
};

/// A device that changes one word behind the program's back when the weights are updated by the table.
class FlippedBit final : public ArrayMachine {
 public:
  void update_by_table(StreamId stream, std::uint64_t factor, std::uint64_t constant) override {
    ArrayMachine::update_by_table(stream, factor, constant);
    at(0)[77] ^= 1;
  }
};

TEST(Schedule, ModelAgreesWithCarryingItOutElementByElement) {
  for (const int buffers : {4, 6, 16}) {
    for (const int streams : {1, 3}) {
      LayersOptions options = small(buffers, 3);
      options.streams = streams;
      ArrayMachine arrays;
      Comparison comparison(arrays);
      const Sums answer = run_layers(options, comparison, no_report);
      EXPECT_NE(answer, Sums{});
      EXPECT_EQ(comparison.model().live_bytes(), 0U) << "everything is freed";
    }
  }
}

TEST(Schedule, AnswerDependsOnSeedAndIterationsButNotOnStreams) {
  const auto answer = [](LayersOptions options) {
    HostModel model;
    return run_layers(options, model, no_report);
  };
  LayersOptions options = small(10, 2);
  const Sums first = answer(options);
  options.streams = 1;
  EXPECT_EQ(answer(options), first);
  options.iterations = 3;
  EXPECT_NE(answer(options), first);
  options.iterations = 2;
  options.seed = 2;
  EXPECT_NE(answer(options), first);
}

TEST(Schedule, PeakIsTheNumberOfBuffersAskedFor) {
  for (const int buffers : {4, 8, 40}) {
    const LayersOptions options = small(buffers, 1);
    std::uint64_t biases = small_count(0);
    for (int layer = 0; layer < options.layers(); ++layer) biases += small_count(layer);
    EXPECT_EQ(peak_bytes(options), (static_cast<std::uint64_t>(buffers) << 20) + biases * 8);
  }
}

TEST(Schedule, ALostCopyIsReportedWithItsFirstElement) {
  ForgetfulMachine device;
  Comparison comparison(device);
  try {
    run_layers(small(8, 1), comparison, no_report);
    FAIL() << "a lost write went unnoticed";
  } catch (const AnswerDiffers& difference) {
    EXPECT_THAT(std::string(difference.what()), ::testing::StartsWith("gradient 0 of iteration 0: element "));
  }
}

TEST(Schedule, OneFlippedBitInAWeightIsFound) {
  FlippedBit device;
  Comparison comparison(device);
  try {
    run_layers(small(6, 1), comparison, no_report);
    FAIL() << "a flipped bit went unnoticed";
  } catch (const AnswerDiffers& difference) {
    EXPECT_THAT(std::string(difference.what()), ::testing::HasSubstr("element 77 of 131072 is 0x"));
  }
}

}  // namespace
}  // namespace tferry::samples
