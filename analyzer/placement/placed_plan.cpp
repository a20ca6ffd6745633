#include "analyzer/placement/placed_plan.hpp"

#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace tferry::analyzer {
namespace {

// Plenty of room makes good places easy to find, little of it moves fewer bytes: from the largest of these
// down, as long as there are places; up from it where there are none.
constexpr double kSlacks[] = {0.02, 0.01, 0.005, 0};
constexpr double kLargerSlacks[] = {0.03, 0.05, 0.1};
constexpr double kAsFast = 1.001;  // so near the fastest, moving fewer bytes counts

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
                             const Planner& planner, const SimulationOptions& simulation, Slacks slacks) {
  PlanOutcome best;
  double fastest_ns = std::numeric_limits<double>::infinity();
  const auto found = [&](double slack) {
    PlanBasis basis = plan_basis(recording, typical, rules, budget_bytes, slack);
    if (!basis.basis) {
      best.reason = basis.reason;
      return false;
    }
    PlacedPlan placed = *std::move(basis.basis);
    Plan plan = planner(placed.workload.workload);
    if (!place(placed, std::move(plan), simulation)) {
      best.reason = fmt::format("its tensors found no places in {} chunks", placed.split.plan());
      return false;
    }
    fastest_ns = std::min(fastest_ns, placed.plan.predicted_ns);
    const bool worse_best = best.plan && best.plan->plan.predicted_ns > kAsFast * fastest_ns;
    const bool less = placed.plan.predicted_ns <= kAsFast * fastest_ns &&
                      (!best.plan || placed.placement.bytes_out <= best.plan->placement.bytes_out);
    if (!best.plan || worse_best || less) best.plan = std::move(placed);
    return true;
  };
  // What is not possible with all chunks is not possible with fewer.
  if (PlanBasis whole = plan_basis(recording, typical, rules, budget_bytes, 0); !whole.basis)
    return {std::nullopt, whole.reason};
  if (slacks == Slacks::kAll)
    std::all_of(std::begin(kSlacks), std::end(kSlacks), found);
  else
    found(kSlacks[0]);
  if (!best.plan) std::any_of(std::begin(kLargerSlacks), std::end(kLargerSlacks), found);
  // With so much slack there may be too little for what one operation needs at once.
  if (!best.plan) std::any_of(std::begin(kSlacks) + 1, std::end(kSlacks), found);
  if (best.plan) best.reason.clear();
  return best;
}

PlanOutcome make_placed_plan(const Recording& recording, const RecordedIteration& typical,
                             const trace::MemoryRules& rules, std::int64_t budget_bytes,
                             const LookaheadOptions& options, const Effort& effort) {
  LookaheadOptions search = options;
  const auto plan = [&search](const Workload& workload) { return plan_lookahead(workload, search); };
  PlanOutcome best;
  for (int i = 0; i < effort.searches; ++i, ++search.seed) {
    PlanOutcome outcome =
        make_placed_plan(recording, typical, rules, budget_bytes, plan, options.simulation, effort.slacks);
    const bool faster =
        best.plan && outcome.plan && outcome.plan->plan.predicted_ns < best.plan->plan.predicted_ns;
    if (!best.plan || faster) best = std::move(outcome);
  }
  return best;
}

}  // namespace tferry::analyzer
