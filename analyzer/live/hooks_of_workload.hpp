#pragma once

#include "analyzer/live/live_recording.hpp"
#include "analyzer/workload/workload.hpp"
#include "trace/spool_reader.hpp"
#include "trace/spool_writer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tferry::analyzer::testing_support {

/// Writes what the hooks of a job with this workload would.
class Hooks {
 public:
  Hooks(const Workload& workload, const std::string& path, bool timed = false)
      : workload_(workload), timed_(timed) {
    std::string error;
    spool_ = trace::SpoolWriter::open(path, {}, &error);
    EXPECT_TRUE(spool_) << error;
    spool_->append(trace::DeviceRecord{.time_ns = 1, .device = 0});
    for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
      if (workload.tensors[t].persistent) allocate(t);
    }
  }

  /// In which the runtime moves something, and every operation waits kWait times as long as it then runs.
  void iteration() {
    if (moving_) {
      spool_->append(trace::TransferRecord{.time_ns = now_ += 10,
                                           .operation = operations_ + 1,
                                           .bytes = 1 << 20,
                                           .device = 0,
                                           .kind = trace::TransferKind::kPark});
    }
    for (std::uint32_t i = 0; i < workload_.operations.size(); ++i) {
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (!workload_.tensors[t].persistent && workload_.tensors[t].birth == i) allocate(t);
      }
      launch(workload_.operations[i]);
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (!workload_.tensors[t].persistent && workload_.tensors[t].death == i && alive_.contains(t))
          free(t);
      }
    }
  }

  /// Memory that the job holds and no operation names.
  void hold(std::int64_t bytes) {
    spool_->append(trace::AllocationRecord{.time_ns = now_ += 10,
                                           .allocation = ++allocations_,
                                           .bytes = bytes,
                                           .reserved_bytes = bytes,
                                           .device = 0,
                                           .kind = trace::MemoryKind::kDevice});
  }
  /// So many operations that are no iteration's, each another one.
  void something_else(int operations) {
    for (int i = 0; i < operations; ++i) launch({"other " + std::to_string(++others_), 100, 0, {}});
  }
  /// The runtime moved no memory for what comes now.
  void fit() { moving_ = false; }

  void close() { spool_->close(); }

 private:
  static constexpr std::int64_t kWait = 3;

  void allocate(std::uint32_t tensor) {
    alive_[tensor] = ++allocations_;
    spool_->append(trace::AllocationRecord{.time_ns = now_ += 10,
                                           .allocation = allocations_,
                                           .bytes = workload_.tensors[tensor].size,
                                           .reserved_bytes = workload_.tensors[tensor].size,
                                           .device = 0,
                                           .kind = trace::MemoryKind::kDevice});
  }
  void free(std::uint32_t tensor) {
    spool_->append(trace::FreeRecord{.time_ns = now_ += 10, .allocation = alive_.at(tensor)});
    alive_.erase(tensor);
  }
  void launch(const Operation& operation) {
    spool_->append(trace::KernelLaunchRecord{.time_ns = now_ += 1000,
                                             .operation = ++operations_,
                                             .name = spool_->intern(operation.name),
                                             .grid = {1, 1, 1},
                                             .block = {256, 1, 1},
                                             .device = 0});
    if (timed_) {
      gpu_ += kWait * operation.duration_ns;
      spool_->append(trace::KernelActivityRecord{.time_ns = gpu_,
                                                 .end_ns = gpu_ + operation.duration_ns,
                                                 .correlation_id = static_cast<std::uint32_t>(operations_),
                                                 .device = 0});
      gpu_ += operation.duration_ns;
    }
    std::vector<trace::AccessEntry> entries;
    for (const Access& access : operation.accesses) {
      const auto held = alive_.find(access.tensor);
      if (held == alive_.end()) continue;
      trace::AccessEntry entry;
      entry.allocation = held->second;
      entry.kind = trace::AccessKind::kMayTouch;
      entry.known_by = trace::KnownBy::kArgument;
      entries.push_back(entry);
    }
    if (!entries.empty()) spool_->append_accesses(now_, operations_, entries);
  }

  const Workload& workload_;
  std::unique_ptr<trace::SpoolWriter> spool_;
  std::map<std::uint32_t, std::uint64_t> alive_;  ///< allocation by tensor
  std::uint64_t allocations_ = 0, operations_ = 0;
  std::int64_t now_ = 1000, gpu_ = 5000;
  bool timed_;
  bool moving_ = true;
  int others_ = 0;
};

/// What the live planner knows once it has read all of a spool.
inline LiveRecording read_all(const std::string& path) {
  trace::SpoolReader reader(path);
  LiveRecording recording;
  while (const auto record = reader.next()) recording.add(*record);
  return recording;
}

}  // namespace tferry::analyzer::testing_support
