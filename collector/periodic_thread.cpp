#include "collector/periodic_thread.hpp"

#include <chrono>
#include <csignal>
#include <system_error>

namespace tferry::collector {

PeriodicThread::~PeriodicThread() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool PeriodicThread::start() noexcept {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread(&PeriodicThread::run, this);
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

void PeriodicThread::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

bool PeriodicThread::finish(std::int64_t timeout_ns) noexcept {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(mutex_);
  finishing_ = true;
  wake_.notify_one();
  return ended_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] { return done_; });
}

void PeriodicThread::run() {
  auto due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(interval_ns_);
  for (;;) {
    Cause cause = Cause::kInterval;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, due, [&] { return woken_ || finishing_; });
      if (finishing_) {
        cause = Cause::kLast;
      } else if (woken_) {
        cause = std::chrono::steady_clock::now() >= due ? Cause::kInterval : Cause::kWoken;
      }
      woken_ = false;
    }
    cycle_(cause);
    if (cause == Cause::kLast) break;
    if (cause == Cause::kInterval) {
      due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(interval_ns_);
    }
  }
  const std::lock_guard lock(mutex_);
  done_ = true;
  ended_.notify_all();
}

}  // namespace tferry::collector
