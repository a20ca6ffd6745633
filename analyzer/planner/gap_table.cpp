#include "analyzer/planner/gap_table.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/planner/room_line.hpp"
#include "analyzer/workload/operation_sums.hpp"

#include <algorithm>

namespace tferry::analyzer {

GapTable::GapTable(const Workload& workload)
    : workload_(workload), count_(workload.operations.size()), started_(2 * count_ + 1) {
  const Uses uses(workload);
  live_ = live_bytes(workload, uses);
  lowest_ = static_cast<std::size_t>(std::min_element(live_.begin(), live_.end()) - live_.begin());
  for (const Gap& gap : gaps(workload, uses)) {
    if (gap.needed && gap.before > gap.after + 1) gaps_.push_back(gap);
  }
  for (std::size_t i = 0; i < 2 * count_; ++i) {
    started_[i + 1] =
        started_[i] + std::max(1.0, static_cast<double>(workload.operations[i % count_].duration_ns));
  }
}

std::vector<std::uint32_t> GapTable::around(std::size_t operation) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t g = 0; g < gaps_.size(); ++g) {
    const std::size_t at = operation > gaps_[g].after ? operation : operation + count_;
    if (at < gaps_[g].before) found.push_back(g);
  }
  return found;
}

std::vector<std::int64_t> GapTable::away(const std::vector<std::int64_t>& parked) const {
  OperationSums away(count_);
  for (std::size_t g = 0; g < gaps_.size(); ++g) away.add(gaps_[g].after + 1, gaps_[g].before, parked[g]);
  return away.by_operation();
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
  OperationSums away(count_);
  for (const PlanAction& action : actions) away.add(action.leave_after + 1, action.needed_by, action.bytes);
  std::vector<std::int64_t> left = away.by_operation();
  for (std::size_t t = 0; t < count_; ++t) left[t] += workload_.budget - live_[t];
  RoomLine room(left);
  const std::size_t first = lowest();
  const auto due = [&](const PlanAction& action) { return (action.needed_by + count_ - first) % count_; };
  std::sort(actions.begin(), actions.end(), [&](const PlanAction& a, const PlanAction& b) {
    return due(a) != due(b) ? due(a) < due(b) : a.tensor < b.tensor;
  });
  for (PlanAction& action : actions) {
    if (!action.returns) continue;
    const std::size_t from = room.room_from(action.leave_after + 1, action.return_from, action.bytes);
    room.take(from, action.return_from, action.bytes);
    action.return_from = static_cast<std::uint32_t>(from);
  }
}

}  // namespace tferry::analyzer
