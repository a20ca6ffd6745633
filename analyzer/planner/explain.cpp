#include "analyzer/planner/explain.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

double simulated(const Workload& workload, const Uses& uses, const Plan& plan,
                 const SimulationOptions& options) {
  PlanPolicy policy(workload, uses, plan);
  return simulate(workload, policy, options).time_ns;
}

}  // namespace

std::vector<GapExplanation> explain_tensor(const Workload& workload, const Plan& plan, std::uint32_t tensor,
                                           const SimulationOptions& simulation) {
  const Uses uses(workload);
  const std::size_t count = workload.operations.size();
  const std::vector<std::int64_t> live = live_bytes(workload, uses);
  const double as_planned = simulated(workload, uses, plan, simulation);
  const std::int64_t size = workload.tensors[tensor].size;
  std::vector<GapExplanation> all;
  for (const Gap& gap : gaps(workload, uses)) {
    if (gap.tensor != tensor || gap.before <= gap.after + 1) continue;
    GapExplanation one{gap.after, gap.before, gap.needed, 0, 0, 0, 0, gap.last, 0};
    for (std::uint32_t t = gap.after + 1; t < gap.before; ++t) {
      const Operation& operation = workload.operations[t % count];
      one.lasts_ns += static_cast<double>(operation.duration_ns + operation.gap_ns);
      one.most_excess = std::max(one.most_excess, live[t % count] - workload.budget);
    }
    const auto bytes = static_cast<double>(size);
    one.moves_ns = (gap.last ? 0 : bytes / (workload.link.reached * workload.link.in)) +
                   (gap.written_before || gap.last ? bytes / (workload.link.reached * workload.link.out) : 0);
    Plan other = plan;
    std::erase_if(other.actions, [&](const PlanAction& action) {
      const bool here = action.tensor == tensor && action.leave_after == gap.after;
      if (here) one.parked += action.bytes;
      return here;
    });
    if (gap.needed) {
      if (one.parked == 0)
        other.actions.push_back({tensor, size, gap.after, gap.before, gap.before, !gap.last});
      one.otherwise_ns = simulated(workload, uses, other, simulation) - as_planned;
    }
    all.push_back(one);
  }
  return all;
}

}  // namespace tferry::analyzer
