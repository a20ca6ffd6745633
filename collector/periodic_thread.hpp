#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace tferry::collector {

/// A helper thread (all signals blocked) that calls `cycle` when the interval is over, when it is woken, and
/// once more at the end. The job never waits for it longer than it says.
///
/// Threads: wake from any; start and finish from one. Not to be touched in a child after fork, where the
/// thread does not exist.
class PeriodicThread {
 public:
  enum class Cause { kWoken, kInterval, kLast };

  PeriodicThread(std::function<void(Cause)> cycle, std::int64_t interval_ns)
      : cycle_(std::move(cycle)), interval_ns_(interval_ns) {}
  /// Waits for the last cycle, however long it takes.
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  /// False if the system has no thread to give.
  bool start() noexcept;
  void wake() noexcept;
  /// For the next interval; from within a cycle.
  void set_interval(std::int64_t interval_ns) noexcept { interval_ns_ = interval_ns; }
  /// Runs the last cycle and waits for it, at most `timeout_ns`. False if it did not end in time: the thread
  /// then goes on alone.
  bool finish(std::int64_t timeout_ns) noexcept;

 private:
  void run();

  std::function<void(Cause)> cycle_;
  std::int64_t interval_ns_;  ///< of the thread, once it runs
  std::mutex mutex_;
  std::condition_variable wake_, ended_;
  bool woken_ = false, finishing_ = false, done_ = false;
  std::thread thread_;
};

}  // namespace tferry::collector
