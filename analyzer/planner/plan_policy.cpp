#include "analyzer/planner/plan_policy.hpp"

#include <algorithm>

namespace tferry::analyzer {

PlanPolicy::PlanPolicy(const Workload& workload, const Uses& uses, const Plan& plan)
    : uses_(uses), plan_(plan), leaving_(workload.operations.size()), returning_(workload.operations.size()) {
  const std::size_t count = workload.operations.size();
  for (std::uint32_t i = 0; i < plan.actions.size(); ++i) {
    leaving_[plan.actions[i].leave_after].push_back(i);
    if (plan.actions[i].returns) returning_[(plan.actions[i].return_from + count - 1) % count].push_back(i);
  }
}

void PlanPolicy::finished(std::uint64_t position, Mover& mover) {
  const std::uint64_t count = uses_.operations();
  const std::uint64_t operation = position % count;
  for (const Use& use : uses_.of_operation(operation)) {
    const TensorState& state = mover.memory()[use.tensor];
    if (!state.needed) mover.page_out(use.tensor, state.present);
  }
  for (const std::uint32_t i : leaving_[operation])
    mover.page_out(plan_.actions[i].tensor, plan_.actions[i].bytes);
  for (const std::uint32_t i : returning_[operation]) {
    const PlanAction& action = plan_.actions[i];
    mover.prefetch(action.tensor, action.bytes, position + 1 + (action.needed_by - action.return_from));
  }
}

std::uint64_t PlanPolicy::distance_to_next_use(std::uint32_t tensor, std::uint64_t operation) const {
  const std::uint64_t count = uses_.operations();
  std::uint64_t nearest = count;
  for (const Use& use : uses_.of_tensor(tensor)) {
    nearest = std::min(nearest, (use.operation + count - operation) % count);
  }
  return nearest;
}

std::optional<std::uint32_t> PlanPolicy::victim(const Memory& memory, std::uint64_t position) {
  std::optional<std::uint32_t> best;
  std::uint64_t furthest = 0;
  for (std::uint32_t t = 0; t < memory.size(); ++t) {
    if (memory[t].evictable() <= 0) continue;
    const std::uint64_t distance = distance_to_next_use(t, position % uses_.operations());
    if (!best || distance > furthest) best = t, furthest = distance;
  }
  return best;
}

}  // namespace tferry::analyzer
