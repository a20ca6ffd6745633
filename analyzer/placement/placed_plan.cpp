#include "analyzer/placement/placed_plan.hpp"

#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <utility>

namespace tferry::analyzer {
namespace {

constexpr double kSlacks[] = {0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1};
constexpr double kMostForTime = 0.02;  // slack that is tried where places were found, but cost time
constexpr double kCloseEnough = 0.02;  // of the time that the plan takes with bytes in any chunk

}  // namespace

PlanBasis plan_basis(const Recording& recording, const RecordedIteration& typical,
                     const trace::MemoryRules& rules, std::int64_t budget_bytes, double slack) {
  PlacedPlan basis;
  basis.rules = rules;
  basis.slack = slack;
  basis.split = split_memory(recording, typical, rules, budget_bytes);
  const std::uint32_t chunks = basis.split.plan();
  if (chunks == 0) {
    return {std::nullopt,
            fmt::format(
                "of {} chunks of {} bytes, {} are for small allocations, {} for what cannot move and {} "
                "spare: nothing is left to plan with",
                basis.split.total, rules.chunk, basis.split.small, basis.split.resident, basis.split.spare)};
  }
  basis.workload = plan_workload(typical, static_cast<std::int64_t>(rules.chunk),
                                 static_cast<std::uint32_t>(chunks * (1 - slack)));
  try {
    validate(basis.workload.workload);
  } catch (const WorkloadError& error) {
    return {std::nullopt, error.what()};
  }
  return {std::move(basis), ""};
}

bool place(PlacedPlan& basis, Plan plan, const SimulationOptions& options) {
  std::optional<Placement> placement = place_plan(basis.workload, plan, basis.split.plan(), options);
  if (!placement) return false;
  basis.placement = *std::move(placement);
  basis.plan = std::move(plan);
  basis.plan.predicted_ns = basis.placement.simulated.time_ns;
  return true;
}

PlanOutcome make_placed_plan(const Recording& recording, const RecordedIteration& typical,
                             const trace::MemoryRules& rules, std::int64_t budget_bytes,
                             const LookaheadOptions& options) {
  PlanOutcome best;
  double goal_ns = 0;
  for (const double slack : kSlacks) {
    PlanBasis found = plan_basis(recording, typical, rules, budget_bytes, slack);
    if (!found.basis && slack == 0) return {std::nullopt, found.reason};
    if (!found.basis || (best.plan && slack > kMostForTime)) break;
    PlacedPlan placed = *std::move(found.basis);
    Plan plan = plan_lookahead(placed.workload.workload, options);
    if (slack == 0) goal_ns = (1 + kCloseEnough) * plan.predicted_ns;
    if (!place(placed, std::move(plan), options.simulation)) {
      best.reason = fmt::format("its tensors found no places in {} chunks", placed.split.plan());
      continue;
    }
    if (!best.plan || placed.plan.predicted_ns < best.plan->plan.predicted_ns) best.plan = std::move(placed);
    if (best.plan->plan.predicted_ns <= goal_ns) break;
  }
  if (best.plan) best.reason.clear();
  return best;
}

}  // namespace tferry::analyzer
