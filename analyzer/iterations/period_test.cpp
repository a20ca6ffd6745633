#include "analyzer/iterations/period.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <random>
#include <string_view>

namespace tferry::analyzer {
namespace {

using Signatures = std::vector<std::uint32_t>;

Signatures letters(std::string_view text) { return {text.begin(), text.end()}; }

Signatures operator+(Signatures a, const Signatures& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Signatures operator*(const Signatures& a, std::size_t times) {
  Signatures all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), a.begin(), a.end());
  return all;
}

/// `count` operations that occur nowhere else, told apart by `name`.
Signatures phase(std::uint32_t name, std::size_t count) {
  Signatures all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(name * 100'000 + static_cast<std::uint32_t>(i));
  return all;
}

std::vector<std::size_t> begins(const Iterations& iterations) {
  std::vector<std::size_t> all;
  for (const IterationSpan& span : iterations.spans) all.push_back(span.begin);
  return all;
}

/// A transformer of `layers` equal layers: forward, loss, backward, optimiser.
Signatures forward(std::size_t layers) { return phase(1, 5) + phase(2, 12) * layers + phase(3, 6); }
Signatures backward(std::size_t layers) { return phase(4, 7) + phase(5, 25) * layers + phase(6, 4); }
Signatures optimiser() { return phase(7, 40); }

TEST(Period, ShortLoop) {
  const auto found = find_iterations(letters("xyzABCABCABCABC"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 3u);
  EXPECT_EQ(begins(*found), (std::vector<std::size_t>{3, 6, 9, 12}));
  EXPECT_EQ(found->accumulation, 1u);
  EXPECT_GT(found->confidence, 0.95);
}

TEST(Period, ThreeIterationsSuffice) {
  const auto found = find_iterations(phase(9, 40) + (forward(4) + backward(4)) * 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(begins(*found), (std::vector<std::size_t>{40, 40 + 170, 40 + 340}));
}

TEST(Period, TwoIterationsDoNotAndTheirLayersAreNotTakenForOnes) {
  EXPECT_FALSE(find_iterations((forward(4) + backward(4)) * 2));
  EXPECT_FALSE(find_iterations(phase(8, 100) + (forward(12) + backward(12) + optimiser()) * 2));
}

TEST(Period, NothingAtAll) {
  EXPECT_FALSE(find_iterations({}));
  EXPECT_FALSE(find_iterations(letters("A")));
  EXPECT_FALSE(find_iterations(phase(1, 10'000)));
}

TEST(Period, OneKernelOverAndOver) {
  const auto found = find_iterations(letters("A") * 1000);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, 1u);
}

TEST(Period, LayersAreNotIterations) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  const auto found = find_iterations(phase(8, 300) + step * 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 8u);
  EXPECT_EQ(found->first(), 300u);
  EXPECT_EQ(found->accumulation, 1u);
}

TEST(Period, InferenceOverEqualLayers) {
  const Signatures step = forward(48);
  const auto found = find_iterations(step * 10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 10u);
}

TEST(Period, TrailingCutOffIsNoIteration) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  Signatures job = step * 6;
  job.resize(job.size() - step.size() / 3);
  const auto found = find_iterations(job);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 5u);
}

TEST(Period, ExtraOperationNowAndThen) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  Signatures job;
  for (std::size_t i = 0; i < 20; ++i) {
    job = job + step;
    if (i % 5 == 4) job.insert(job.end() - 100, 77'777);
  }
  const auto found = find_iterations(job);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 20u);
  EXPECT_EQ(found->accumulation, 1u);
}

// Optimiser states are filled in the first step, hundreds of times by a kernel that every step has once: its
// places there are no beginnings of iterations (two ranks that exchanged 148 gradients, recorded).
TEST(Period, AKernelOfEveryStepThatTheFirstOneRunsHundredsOfTimes) {
  const Signatures fill = phase(24, 1), exchange = (phase(20, 1) + phase(21, 1)) * 148, last = phase(7, 20);
  const Signatures first = fill + forward(12) + backward(12) + exchange + fill * 296 + last;
  const Signatures step = fill + forward(12) + backward(12) + exchange + last;
  const auto found = find_iterations(phase(9, 271) + first + step * 5);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_GE(found->spans.size(), 4u);
}

TEST(Period, EvaluationBetweenStepsIsNotPartOfAnIteration) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  const auto found = find_iterations((step * 10 + forward(12) * 7) * 6);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 60u);
  EXPECT_EQ(found->spans[10].begin, step.size() * 10 + forward(12).size() * 7);
}

TEST(Period, EvaluationOfOneBatchBetweenFewSteps) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  const auto found = find_iterations((step * 3 + forward(12)) * 12);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 36u);
}

TEST(Period, GradientAccumulation) {
  const Signatures micro = forward(12) + backward(12);
  const Signatures step = micro * 4 + optimiser();
  const auto found = find_iterations(phase(8, 200) + step * 9);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->accumulation, 4u);
  EXPECT_EQ(found->count(), 9u);
  EXPECT_EQ(found->first(), 200u);
}

TEST(Period, GradientAccumulationWithFusedOptimiserAndEvaluation) {
  const Signatures micro = forward(12) + backward(12);
  const Signatures step = micro * 8 + phase(7, 6);
  const auto found = find_iterations((step * 5 + forward(12) * 10) * 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->accumulation, 8u);
  EXPECT_EQ(found->count(), 20u);
}

TEST(Period, AccumulatedStepWhoseFirstMicroBatchDiffers) {
  const Signatures first = forward(6) + backward(6);
  const Signatures other = forward(6) + phase(4, 7) + (phase(5, 25) + phase(10, 4)) * 6 + phase(6, 4);
  const Signatures step = first + other * 3 + optimiser();
  const auto found = find_iterations(phase(8, 50) + step * 10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
}

TEST(Period, LogLineEveryTenSteps) {
  const Signatures step = forward(12) + backward(12) + optimiser();
  const auto found = find_iterations((step * 10 + phase(11, 1)) * 10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_EQ(found->count(), 100u);
}

TEST(Period, MillionEntriesInWellUnderASecond) {
  const Signatures step = forward(48) + backward(48) + optimiser();
  const Signatures job = step * (1'000'000 / step.size() + 1);
  const auto started = std::chrono::steady_clock::now();
  const auto found = find_iterations(job);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->period, step.size());
  EXPECT_LT(took.count(), 10.0) << "debug builds and loaded machines included";
  RecordProperty("seconds", std::to_string(took.count()));
}

RC_GTEST_PROP(PeriodProperty, RandomSequencesHaveNone, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const auto alphabet = *rc::gen::element(3u, 8u, 40u, 500u);
  const auto length = *rc::gen::inRange(200u, 4000u);
  std::mt19937 random(seed);
  Signatures job;
  for (unsigned i = 0; i < length; ++i) job.push_back(random() % alphabet);
  RC_ASSERT(!find_iterations(job));
}

/// Any random iteration, repeated after a warm-up with a little noise, is found: its length, and nearly all
/// of it.
RC_GTEST_PROP(PeriodProperty, NoisyRepetitionIsFound, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const auto length = *rc::gen::inRange(40u, 600u);
  const auto alphabet = *rc::gen::inRange(6u, 200u);
  const auto times = *rc::gen::inRange(6u, 40u);
  const auto warm_up = *rc::gen::inRange(0u, 500u);
  const auto noise_every = *rc::gen::inRange(1500u, 6000u);
  std::mt19937 random(seed);
  Signatures step;
  for (unsigned i = 0; i < length; ++i) step.push_back(random() % alphabet);
  Signatures job;
  for (unsigned i = 0; i < warm_up; ++i) job.push_back(1000 + random() % 300);
  for (unsigned t = 0; t < times; ++t) {
    for (const std::uint32_t signature : step) {
      if (random() % noise_every == 0) job.push_back(5000 + random() % 50);
      if (random() % noise_every != 0) job.push_back(signature);
    }
  }
  const auto found = find_iterations(job);
  RC_ASSERT(found.has_value());
  RC_ASSERT(found->period + 2 >= length && found->period <= length + 2);
  RC_ASSERT(10 * found->count() >= 7 * times);
  std::size_t end = 0;
  for (const IterationSpan& span : found->spans) {
    RC_ASSERT(span.begin >= end);
    RC_ASSERT(span.end <= job.size());
    end = span.end;
  }
}

}  // namespace
}  // namespace tferry::analyzer
