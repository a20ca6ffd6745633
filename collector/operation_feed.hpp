#pragma once

#include "trace/job_status.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tferry::collector {

/// The operations of this process as the preloaded runtime logs them (`operations.PID` in the run directory),
/// read while they are made. Of the GPU only that the process used first.
///
/// Threads: one at a time; the runtime may log at any moment.
class OperationFeed {
 public:
  OperationFeed() = default;
  ~OperationFeed();
  OperationFeed(const OperationFeed&) = delete;
  OperationFeed& operator=(const OperationFeed&) = delete;

  /// False if there is no such log, or it is none of this version.
  bool open(const std::string& run_directory);
  /// Hands each operation that was logged since the last call to `take(signature)`. Returns how many were
  /// overwritten before they were read.
  template <typename Take>
  std::uint64_t read(Take&& take);

 private:
  const void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  const trace::OperationLogHeader* header_ = nullptr;
  const trace::OperationEntry* entries_ = nullptr;
  std::uint64_t next_ = 0;
  int device_ = -1;
};

template <typename Take>
std::uint64_t OperationFeed::read(Take&& take) {
  if (header_ == nullptr) return 0;
  const std::uint64_t written = header_->written.load(std::memory_order_acquire);
  const std::uint64_t capacity = header_->capacity;
  // The oldest eighth of the ring may be overwritten while it is read.
  const std::uint64_t reach = capacity - capacity / 8;
  std::uint64_t lost = 0;
  if (written - next_ > reach) {
    lost = written - reach - next_;
    next_ += lost;
  }
  for (; next_ < written; ++next_) {
    const trace::OperationEntry& entry = entries_[next_ % capacity];
    if (device_ < 0) device_ = entry.device;
    if (entry.device == device_) take(entry.signature);
  }
  return lost;
}

}  // namespace tferry::collector
