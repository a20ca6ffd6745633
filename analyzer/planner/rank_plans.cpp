#include "analyzer/planner/rank_plans.hpp"

#include "analyzer/planner/coordination.hpp"

#include <utility>

namespace tferry::analyzer {
namespace {

/// What the plans move, all in one. Gaps that several park stand in it several times.
Plan all_of(const std::vector<PlacedPlan>& plans, std::size_t but) {
  Plan all;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (rank == but) continue;
    const auto& actions = plans[rank].plan.actions;
    all.actions.insert(all.actions.end(), actions.begin(), actions.end());
  }
  return all;
}

}  // namespace

std::vector<PlacedPlan> plans_for_ranks(const Recording& recording, const RecordedIteration& typical,
                                        const PlacedPlan& first, std::int64_t budget_bytes, std::size_t ranks,
                                        const LookaheadOptions& options) {
  std::vector<PlacedPlan> plans{first};
  while (plans.size() < ranks) {
    const Plan others = all_of(plans, plans.size());
    LookaheadOptions differing = options;
    differing.avoid = &others;
    PlanOutcome outcome = make_placed_plan(recording, typical, first.rules, budget_bytes, differing);
    if (!outcome.plan) return {};
    plans.push_back(std::move(*outcome.plan));
  }
  return plans;
}

double overlap_with_others(const std::vector<PlacedPlan>& plans, std::size_t rank) {
  return plan_overlap(all_of(plans, rank), plans[rank].plan);
}

}  // namespace tferry::analyzer
