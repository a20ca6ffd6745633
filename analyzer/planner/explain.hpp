#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// What a plan does with one tensor between two of its uses, and what the opposite would cost.
struct GapExplanation {
  std::uint32_t after = 0;       ///< operation
  std::uint32_t before = 0;      ///< the next that uses it; + operations when in the next iteration
  bool needed = true;            ///< false: the contents are dead meanwhile and cost nothing
  double lasts_ns = 0;           ///< when nothing waits
  double moves_ns = 0;           ///< least time to copy it out, if it was written, and in
  std::int64_t parked = 0;       ///< bytes that leave
  std::int64_t most_excess = 0;  ///< most bytes over the budget while it lasts, with nothing parked
  bool last = false;             ///< no next use: `before` is the operation after the tensor's death
  double otherwise_ns =
      0;  ///< iteration if it stayed (where it leaves), or left (where it stays), less the plan's
};

/// One entry a gap, in order. What stays by force is made up for by whatever is needed last, so otherwise_ns
/// is the margin to the next candidate. Requires a valid plan of the workload. Pure.
std::vector<GapExplanation> explain_tensor(const Workload& workload, const Plan& plan, std::uint32_t tensor,
                                           const SimulationOptions& simulation);

}  // namespace tferry::analyzer
