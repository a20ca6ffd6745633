#pragma once

#include "analyzer/placement/plan_workload.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Moments of an iteration in program order, as whole numbers: for each operation the allocations and frees
/// before it, one by one, then the returns for it, then (after it) what leaves. Operations, and with them
/// ticks, count on into the next iteration.
class ProgramTicks {
 public:
  explicit ProgramTicks(const PlanWorkload& plan)
      : count_(plan.workload.operations.size()),
        alloc_(plan.workload.tensors.size()),
        free_(plan.workload.tensors.size()),
        free_position_(plan.workload.tensors.size()) {
    std::size_t next = 0;
    std::uint32_t tick = 0;
    for (std::uint32_t p = 0; p < count_; ++p) {
      for (; next < plan.events.size() && plan.events[next].position == p; ++next, ++tick) {
        const MemoryEvent& event = plan.events[next];
        (event.frees ? free_ : alloc_)[event.tensor] = tick;
        if (event.frees) free_position_[event.tensor] = p;
        operation_.push_back(p);
      }
      returns_.push_back(tick);
      leaves_.push_back(tick + 1);
      operation_.insert(operation_.end(), 2, p);
      tick += 2;
    }
    total_ = tick;
  }

  std::uint32_t total() const { return total_; }
  std::uint32_t alloc(std::uint32_t tensor) const { return alloc_[tensor]; }
  /// Later than the allocation, in the next iteration if need be.
  std::uint32_t free(std::uint32_t tensor) const {
    return free_[tensor] + (free_[tensor] <= alloc_[tensor] ? total_ : 0);
  }
  /// The operation before which the tensor is freed, counted as `free` counts.
  std::uint32_t free_position(std::uint32_t tensor) const {
    return free_position_[tensor] +
           (free_[tensor] <= alloc_[tensor] ? static_cast<std::uint32_t>(count_) : 0);
  }
  std::uint32_t before(std::uint32_t operation) const { return unrolled(returns_, operation); }
  std::uint32_t after(std::uint32_t operation) const { return unrolled(leaves_, operation); }
  /// The operation that a tick of one iteration stands before or after.
  std::uint32_t operation(std::uint32_t tick) const { return operation_[tick]; }

 private:
  std::uint32_t unrolled(const std::vector<std::uint32_t>& ticks, std::uint32_t operation) const {
    const auto count = static_cast<std::uint32_t>(count_);
    return ticks[operation % count] + operation / count * total_;
  }

  std::size_t count_;
  std::uint32_t total_ = 0;
  std::vector<std::uint32_t> alloc_, free_, free_position_;  ///< by tensor that is not persistent
  std::vector<std::uint32_t> returns_, leaves_, operation_;
};

}  // namespace tferry::analyzer
