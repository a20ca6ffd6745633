#pragma once

#include "trace/job_status.hpp"

#include <cstdint>
#include <string>

namespace tferry::runtime {

/// The job's side of trace/job_status.hpp: maps `status.PID` and `operations.PID` in the run directory, or
/// private memory when there is none, so that counting never asks whether anybody reads. Any thread may
/// count; `detach` in a forked child puts private memory in place, since the files are the parent's.
class StatusPage {
 public:
  void open(const std::string& directory);
  void detach();

  trace::JobStatus& job() { return *job_; }
  trace::DeviceStatus& device(int ordinal) {
    return job_->device[ordinal >= 0 && ordinal < trace::kMaxDevices ? ordinal : 0];
  }

  void reach(trace::JobStage stage);
  /// Keeps the message for the launcher and says it on stderr, after the prefix, when `level` allows.
  void say(int level, const char* format, ...) __attribute__((format(printf, 3, 4)));
  void set_log_level(int level) { log_level_ = level; }

  void log_operation(int device, std::uint32_t signature, bool waited, std::int64_t fetched,
                     std::int64_t parked);

  static std::int64_t now_ns();

 private:
  trace::JobStatus* job_ = nullptr;
  trace::OperationLogHeader* log_ = nullptr;
  trace::OperationEntry* entries_ = nullptr;
  int log_level_ = 1;
};

/// For messages.
inline double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0); }

/// A relaxed add and a relaxed maximum on a counter of the page.
inline void count(std::atomic<std::int64_t>& counter, std::int64_t amount = 1) {
  counter.fetch_add(amount, std::memory_order_relaxed);
}
inline void raise_to(std::atomic<std::int64_t>& counter, std::int64_t value) {
  std::int64_t old = counter.load(std::memory_order_relaxed);
  while (old < value && !counter.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

}  // namespace tferry::runtime
