#pragma once

#include "analyzer/workload/workload.hpp"
#include "trace/session_writer.hpp"

#include <map>
#include <string>

namespace tferry::analyzer {

/// Writes the session that would have been recorded had a job with this workload run on one GPU with
/// everything resident. With a command, operations differ in their grids even where they have one name, so
/// that iterations are found.
class WorkloadSession {
 public:
  WorkloadSession(const Workload& workload, trace::SessionWriter& writer, const std::string& command = "")
      : workload_(workload), writer_(writer), number_grids_(!command.empty()) {
    trace::ProcessRow process{.id = 1, .pid = 4711};
    if (number_grids_) process.command = command;
    writer_.insert(process);
    writer_.insert(trace::DeviceRow{.id = 1, .uuid = "GPU-0"});
    for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
      if (workload.tensors[t].persistent) allocate(t);
    }
  }

  /// An operation that belongs to no iteration.
  void other(const std::string& name) { kernel(name, 1000, 0, 0); }

  void iteration() {
    const auto count = static_cast<std::uint32_t>(workload_.operations.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (!workload_.tensors[t].persistent && workload_.tensors[t].birth == i) allocate(t);
      }
      const Operation& operation = workload_.operations[i];
      kernel(operation.name, operation.duration_ns, operation.gap_ns, number_grids_ ? i + 1 : 0);
      for (const Access& access : operation.accesses) {
        if (const auto held = alive_.find(access.tensor); held != alive_.end()) touch(held->second, access);
      }
      for (std::uint32_t t = 0; t < workload_.tensors.size(); ++t) {
        if (workload_.tensors[t].persistent || workload_.tensors[t].death != i || !alive_.contains(t))
          continue;
        alive_[t].free_ns = call_ns_ + 100;
        writer_.insert(alive_[t]);
        alive_.erase(t);
      }
    }
  }

  /// What is still allocated is written as never freed.
  void finish() {
    for (const auto& [tensor, row] : alive_) writer_.insert(row);
  }

 private:
  void allocate(std::uint32_t tensor) {
    trace::AllocationRow row;
    row.id = row.allocation = ++allocations_;
    row.process_id = row.device_id.emplace(1);
    row.bytes = row.reserved_bytes = workload_.tensors[tensor].size;
    row.memory_kind = trace::MemoryKind::kDevice;
    row.api = trace::AllocationApi::kAlloc;
    row.alloc_ns = call_ns_ + 200;
    row.movable = 1;
    alive_[tensor] = row;
  }

  void kernel(const std::string& name, std::int64_t duration_ns, std::int64_t gap_ns, std::int64_t grid) {
    call_ns_ += 1000;
    gpu_ns_ += gap_ns;
    trace::KernelRow row;
    row.process_id = row.device_id.emplace(1);
    row.start_ns = gpu_ns_;
    row.end_ns = gpu_ns_ += duration_ns;
    row.name_id = writer_.intern(name);
    row.grid_x = grid;
    row.operation = ++operations_;
    row.call_ns = call_ns_;
    row.owner = trace::StreamOwner::kProgram;
    writer_.insert(row);
  }

  void touch(const trace::AllocationRow& allocation, const Access& access) {
    trace::AccessRow row;
    row.process_id = 1;
    row.operation = operations_;
    row.allocation_id = allocation.id;
    row.bytes = allocation.bytes;
    switch (access.kind) {
      case AccessKind::kRead:
        row.kind = trace::AccessKind::kRead;
        break;
      case AccessKind::kUpdate:
        row.kind = trace::AccessKind::kReadWrite;
        break;
      case AccessKind::kOverwrite:
        row.kind = trace::AccessKind::kWrite;
        break;
      case AccessKind::kMayTouch:
        row.kind = trace::AccessKind::kMayTouch;
        break;
    }
    row.known_by = trace::KnownBy::kDirection;
    writer_.insert(row);
  }

  const Workload& workload_;
  trace::SessionWriter& writer_;
  bool number_grids_;
  std::map<std::uint32_t, trace::AllocationRow> alive_;  ///< by tensor
  std::int64_t allocations_ = 0;
  std::int64_t operations_ = 0;
  std::int64_t call_ns_ = 1'000'000;
  std::int64_t gpu_ns_ = 1'000'000;
};

}  // namespace tferry::analyzer
