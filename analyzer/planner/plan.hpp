#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// The last `bytes` of a tensor leave the card after operation `leave_after` and are back before `needed_by`;
/// or they do not return, since the tensor is freed first.
/// Operations are indices into the iteration; return_from and needed_by are larger by the number of
/// operations when they lie in the next iteration.
struct PlanAction {
  std::uint32_t tensor = 0;
  std::int64_t bytes = 0;
  std::uint32_t leave_after = 0;
  std::uint32_t return_from = 0;  ///< from the start of this operation on there is room to come back
  std::uint32_t needed_by = 0;    ///< the next operation that uses it
  bool returns = true;  ///< false: freed while away; both operations above are the one after its death
  bool operator==(const PlanAction&) const = default;
};

/// What moves in every iteration. Contents that are dead (overwritten before they are read) need no action:
/// their memory counts as free between the two uses.
struct Plan {
  std::string planner;
  std::vector<PlanAction> actions;  ///< by leave_after, then needed_by
  double predicted_ns = 0;          ///< simulated time of an iteration
  bool operator==(const Plan&) const = default;
};

/// Why a plan cannot be followed on this workload, one line each; empty when it can. Checked: every action
/// lies within one gap between two uses whose contents are needed, no tensor parks more than it has, and with
/// what is parked away from leave_after to return_from the budget holds during every operation.
std::vector<std::string> plan_errors(const Workload& workload, const Plan& plan);

/// Bytes that must be on the card while each operation runs when the plan's parked bytes are away.
std::vector<std::int64_t> planned_bytes(const Workload& workload, const Plan& plan);

}  // namespace tferry::analyzer
