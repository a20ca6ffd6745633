#pragma once

#include "runtime/block.hpp"
#include "runtime/moment.hpp"
#include "runtime/plan_follower.hpp"
#include "runtime/recorder.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace tferry::runtime {

struct ManagedAllocation;

/// Where an operation is in a plan of its device.
struct PlanMark {
  std::uint64_t plan = 0;  ///< DevicePlan::serial; 0: no plan saw it
  PlanFollower::Place place;
};

/// What one call of the program (a launch, a copy, a memset) names and what was done for it. One lives per
/// thread and is used again, so that a launch allocates nothing.
struct Operation {
  StreamIndex stream = 0;
  bool capturing = false;  ///< the call is recorded into a graph, not executed
  bool is_launch = false;
  std::uint64_t signature = 0;  ///< trace::OperationSignature; 0: nothing that repeats, and not recorded
  std::vector<Block*> blocks;   ///< named, each once, pinned between acquire and release
  std::vector<std::shared_ptr<ManagedAllocation>> managed;  ///< the same in managed mode
  bool impossible = false;   ///< it reaches memory unseen, and not all of that can be on the device
  bool waited = false;       ///< a fetch or a wait was submitted for it
  std::int64_t fetched = 0;  ///< bytes
  std::int64_t parked = 0;   ///< bytes sent out to make room

  std::int64_t fetched_ahead = 0;      ///< bytes that a plan fetched before it, for later ones
  std::array<PlanMark, 2> plan_marks;  ///< in the plan in place, and in a later one

  bool recording = false;     ///< `details` is wanted
  CUevent arrival = nullptr;  ///< recorded before its waits, of OperationTimer
  CUevent timing = nullptr;   ///< recorded after its waits and before it, the same
  OperationDetails details;

  void reset() {
    if (recording) details.reset();
    blocks.clear();
    managed.clear();
    capturing = is_launch = waited = impossible = false;
    signature = 0;
    fetched = parked = fetched_ahead = 0;
    plan_marks = {};
  }
  void add(const std::shared_ptr<ManagedAllocation>& allocation) {
    for (const auto& known : managed) {
      if (known == allocation) return;
    }
    managed.push_back(allocation);
  }
  void add(Block* block) {
    for (Block* known : blocks) {
      if (known == block) return;
    }
    blocks.push_back(block);
  }
};

}  // namespace tferry::runtime
