// In which of its iterations a job is, found out while it runs.
#include "collector/iteration_tracker.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tferry::collector {
namespace {

constexpr std::uint32_t kOptimizer = 900, kEvaluation = 5000;

/// A step of a model with equal layers: so many layers of ten operations each way, then the optimizer.
std::vector<std::uint32_t> step(int layers) {
  std::vector<std::uint32_t> operations = {1, 2, 3};
  for (int direction = 0; direction < 2; ++direction) {
    for (int layer = 0; layer < layers; ++layer) {
      for (std::uint32_t i = 0; i < 10; ++i)
        operations.push_back(100 + 100 * static_cast<std::uint32_t>(direction) + i);
    }
    operations.push_back(50);
  }
  for (std::uint32_t i = 0; i < 15; ++i) operations.push_back(kOptimizer + i);
  return operations;
}

/// Feeds operations, asking what the period is after every `learn_every`.
class Job {
 public:
  explicit Job(std::size_t learn_every) : learn_every_(learn_every) {}
  void run(const std::vector<std::uint32_t>& operations) {
    for (const std::uint32_t operation : operations) {
      tracker.add(operation);
      if (++count_ % learn_every_ == 0) tracker.learn();
    }
  }
  IterationTracker tracker;

 private:
  std::size_t learn_every_;
  std::size_t count_ = 0;
};

TEST(IterationTrackerTest, CountsIterationsFromZeroOnceItKnowsThem) {
  Job job(70);
  for (int i = 0; i < 20; ++i) job.run(step(4));
  ASSERT_TRUE(job.tracker.follows());
  EXPECT_NEAR(static_cast<double>(job.tracker.period()), static_cast<double>(step(4).size()), 3);
  EXPECT_NEAR(*job.tracker.position(), 20, 1.01);
  const double before = *job.tracker.position();
  for (int i = 0; i < 100; ++i) job.run(step(4));
  EXPECT_NEAR(*job.tracker.position(), before + 100, 1e-9);
}

TEST(IterationTrackerTest, LayersThatRepeatThemselvesAreNoIterations) {
  Job job(700);  // layers end between two looks
  for (int i = 0; i < 9; ++i) job.run(step(48));
  ASSERT_TRUE(job.tracker.follows());
  EXPECT_NEAR(static_cast<double>(job.tracker.period()), static_cast<double>(step(48).size()), 20);
  EXPECT_NEAR(*job.tracker.position(), 9, 1.01);
}

TEST(IterationTrackerTest, LayersThatWereTakenForIterationsNoLongerCountWhenTheyHaveEnded) {
  Job job(30);  // asked many times within the layers of the first step
  for (int i = 0; i < 9; ++i) job.run(step(48));
  ASSERT_TRUE(job.tracker.follows());
  EXPECT_NEAR(static_cast<double>(job.tracker.period()), static_cast<double>(step(48).size()), 20);
  EXPECT_NEAR(*job.tracker.position(), 9, 1.01);
}

TEST(IterationTrackerTest, WhatComesBeforeTheFirstIterationDoesNotCount) {
  Job job(70);
  std::vector<std::uint32_t> weights;
  for (std::uint32_t i = 0; i < 300; ++i) weights.push_back(10'000 + i * i);
  job.run(weights);
  for (int i = 0; i < 10; ++i) job.run(step(4));
  ASSERT_TRUE(job.tracker.position().has_value());
  EXPECT_NEAR(*job.tracker.position(), 10, 1.01);
}

TEST(IterationTrackerTest, AnEvaluationInBetweenIsNotAnIterationAndCountingGoesOn) {
  Job job(70);
  for (int i = 0; i < 10; ++i) job.run(step(4));
  std::vector<std::uint32_t> evaluation;
  for (std::uint32_t i = 0; i < 500; ++i) evaluation.push_back(kEvaluation + i);
  job.run(evaluation);
  EXPECT_FALSE(job.tracker.follows());
  for (int i = 0; i < 10; ++i) job.run(step(4));
  ASSERT_TRUE(job.tracker.follows());
  EXPECT_GE(*job.tracker.position(), 18);
}

TEST(IterationTrackerTest, NothingIsKnownOfAJobThatNeverRepeatsItself) {
  Job job(100);
  std::vector<std::uint32_t> operations;
  std::uint32_t random = 1;
  for (int i = 0; i < 5000; ++i) operations.push_back(random = random * 1664525 + 1013904223);
  job.run(operations);
  EXPECT_FALSE(job.tracker.position().has_value());
}

TEST(IterationTrackerTest, AnOperationMoreInSomeIterationsIsTolerated) {
  Job job(70);
  for (int i = 0; i < 40; ++i) {
    std::vector<std::uint32_t> operations = step(6);
    if (i % 5 == 0) operations.insert(operations.end() - 2, 77);
    job.run(operations);
  }
  ASSERT_TRUE(job.tracker.follows());
  EXPECT_NEAR(*job.tracker.position(), 40, 1.01);
}

}  // namespace
}  // namespace tferry::collector
