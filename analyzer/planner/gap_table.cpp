#include "analyzer/planner/gap_table.hpp"

#include "analyzer/bound/breakpoints.hpp"

#include <algorithm>

namespace tferry::analyzer {

GapTable::GapTable(const Workload& workload)
    : workload_(workload), count_(workload.operations.size()), active_(count_), started_(2 * count_ + 1) {
  const Uses uses(workload);
  live_ = live_bytes(workload, uses);
  for (const Gap& gap : gaps(workload, uses)) {
    if (gap.needed && gap.before > gap.after + 1) gaps_.push_back(gap);
  }
  for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
    for (std::uint32_t t = gaps_[g].after + 1; t < gaps_[g].before; ++t) active_[t % count_].push_back(g);
  }
  for (std::size_t i = 0; i < 2 * count_; ++i) {
    started_[i + 1] =
        started_[i] + std::max(1.0, static_cast<double>(workload.operations[i % count_].duration_ns));
  }
}

std::size_t GapTable::lowest() const {
  return static_cast<std::size_t>(std::min_element(live_.begin(), live_.end()) - live_.begin());
}

std::vector<std::int64_t> GapTable::away(const std::vector<std::int64_t>& parked) const {
  std::vector<std::int64_t> bytes(count_);
  for (std::size_t g = 0; g < gaps_.size(); ++g) {
    if (parked[g] == 0) continue;
    for (std::uint32_t t = gaps_[g].after + 1; t < gaps_[g].before; ++t) bytes[t % count_] += parked[g];
  }
  return bytes;
}

Plan GapTable::plan(const std::vector<std::int64_t>& parked) const {
  Plan plan;
  plan.planner = "lookahead";
  for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
    const Gap& gap = gaps_[g];
    if (parked[g] > 0)
      plan.actions.push_back({gap.tensor, parked[g], gap.after, gap.before, gap.before, !gap.last});
  }
  set_returns(plan.actions);
  std::sort(plan.actions.begin(), plan.actions.end(), [](const PlanAction& a, const PlanAction& b) {
    if (a.leave_after != b.leave_after) return a.leave_after < b.leave_after;
    return a.needed_by != b.needed_by ? a.needed_by < b.needed_by : a.tensor < b.tensor;
  });
  return plan;
}

void GapTable::set_returns(std::vector<PlanAction>& actions) const {
  std::vector<std::int64_t> room(count_);
  for (std::size_t t = 0; t < count_; ++t) room[t] = workload_.budget - live_[t];
  for (const PlanAction& action : actions) {
    for (std::uint32_t t = action.leave_after + 1; t < action.needed_by; ++t)
      room[t % count_] += action.bytes;
  }
  const std::size_t first = lowest();
  const auto due = [&](const PlanAction& action) { return (action.needed_by + count_ - first) % count_; };
  std::sort(actions.begin(), actions.end(), [&](const PlanAction& a, const PlanAction& b) {
    return due(a) != due(b) ? due(a) < due(b) : a.tensor < b.tensor;
  });
  for (PlanAction& action : actions) {
    while (action.returns && action.return_from > action.leave_after + 1 &&
           room[(action.return_from - 1) % count_] >= action.bytes) {
      --action.return_from;
      room[action.return_from % count_] -= action.bytes;
    }
  }
}

}  // namespace tferry::analyzer
