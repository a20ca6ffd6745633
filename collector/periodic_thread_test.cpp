#include "collector/periodic_thread.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <vector>

namespace tferry::collector {
namespace {

constexpr std::int64_t kNever = 3'600'000'000'000, kLong = 60'000'000'000;

TEST(PeriodicThreadTest, RunsALastCycleAtTheEnd) {
  std::vector<PeriodicThread::Cause> causes;
  PeriodicThread thread([&](PeriodicThread::Cause cause) { causes.push_back(cause); }, kNever);
  ASSERT_TRUE(thread.start());
  EXPECT_TRUE(thread.finish(kLong));
  EXPECT_EQ(causes, std::vector{PeriodicThread::Cause::kLast});
}

TEST(PeriodicThreadTest, RunsWhenWokenLongBeforeTheInterval) {
  std::promise<PeriodicThread::Cause> ran;
  bool first = true;
  PeriodicThread thread(
      [&](PeriodicThread::Cause cause) {
        if (first) ran.set_value(cause);
        first = false;
      },
      kNever);
  ASSERT_TRUE(thread.start());
  thread.wake();
  EXPECT_EQ(ran.get_future().get(), PeriodicThread::Cause::kWoken);
}

TEST(PeriodicThreadTest, RunsEachInterval) {
  std::promise<void> third;
  int count = 0;
  PeriodicThread thread(
      [&](PeriodicThread::Cause cause) {
        if (cause == PeriodicThread::Cause::kInterval && ++count == 3) third.set_value();
      },
      1000);
  ASSERT_TRUE(thread.start());
  third.get_future().wait();
  EXPECT_TRUE(thread.finish(kLong));
}

TEST(PeriodicThreadTest, FinishDoesNotWaitForEverForACycleThatHangs) {
  std::promise<void> let_go;
  PeriodicThread thread([&, wait = let_go.get_future().share()](PeriodicThread::Cause) { wait.wait(); },
                        kNever);
  ASSERT_TRUE(thread.start());
  EXPECT_FALSE(thread.finish(1'000'000));
  let_go.set_value();
}

TEST(PeriodicThreadTest, TakesNoSignalsOfTheJob) {
  sigset_t blocked;
  sigemptyset(&blocked);
  PeriodicThread thread([&](PeriodicThread::Cause) { pthread_sigmask(SIG_BLOCK, nullptr, &blocked); },
                        kNever);
  ASSERT_TRUE(thread.start());
  ASSERT_TRUE(thread.finish(kLong));
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  EXPECT_EQ(sigismember(&blocked, SIGCHLD), 1);
  sigset_t here;
  pthread_sigmask(SIG_BLOCK, nullptr, &here);
  EXPECT_EQ(sigismember(&here, SIGTERM), 0);
}

}  // namespace
}  // namespace tferry::collector
