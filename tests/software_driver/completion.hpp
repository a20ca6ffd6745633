#pragma once

#include <atomic>
#include <cstdint>

namespace tferry::software_driver {

using Nanoseconds = std::int64_t;  ///< of virtual time

/// Whether one piece of stream work has been done, and when in virtual time. Any number of threads may wait;
/// finish() is called once and makes everything the work wrote visible to those who saw done().
class Completion {
 public:
  bool done() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
  void wait() const noexcept { done_.wait(0, std::memory_order_acquire); }
  void finish(Nanoseconds at) noexcept {
    time_ = at;
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }

  /// Only after done().
  Nanoseconds time() const noexcept { return time_; }

 private:
  std::atomic<int> done_{0};
  Nanoseconds time_ = 0;
};

}  // namespace tferry::software_driver
