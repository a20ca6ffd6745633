#include "analyzer/planner/alternatives.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/workload/operation_sums.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <vector>

namespace tferry::analyzer {
namespace {

double iteration_time(const Workload& workload) {
  double time = 0;
  for (const Operation& operation : workload.operations)
    time += static_cast<double>(operation.duration_ns + operation.gap_ns);
  return time;
}

/// A gap in which a tensor that the iteration makes can be dropped, and what making it again costs.
struct Droppable {
  Gap gap;
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> makers;  ///< operations that wrote it before the gap
  double cost_ns = 0;
};

std::vector<Droppable> droppable(const Workload& workload, const Uses& uses) {
  std::vector<Droppable> all;
  for (const Gap& gap : gaps(workload, uses)) {
    const Tensor& tensor = workload.tensors[gap.tensor];
    if (tensor.persistent || gap.last || !gap.needed || gap.before <= gap.after + 1) continue;
    Droppable one{gap, tensor.size, {}, 0};
    for (const Use& use : uses.of_tensor(gap.tensor)) {
      if (use.writes) {
        one.makers.push_back(use.operation);
        one.cost_ns += static_cast<double>(workload.operations[use.operation].duration_ns);
      }
      if (use.operation == gap.after) break;
    }
    if (!one.makers.empty()) all.push_back(std::move(one));
  }
  // The cheapest for a byte first.
  std::stable_sort(all.begin(), all.end(), [](const Droppable& a, const Droppable& b) {
    return a.cost_ns * static_cast<double>(b.bytes) < b.cost_ns * static_cast<double>(a.bytes);
  });
  return all;
}

std::optional<Alternatives::Recompute> recompute(const Workload& workload) {
  const Uses uses(workload);
  const std::size_t count = workload.operations.size();
  std::vector<std::int64_t> live = live_bytes(workload, uses);
  Alternatives::Recompute result;
  std::set<std::uint32_t> again;
  for (const Droppable& one : droppable(workload, uses)) {
    const auto lies_in_it = [&](std::size_t t) {
      const std::size_t at = t > one.gap.after ? t : t + count;
      return at < one.gap.before;
    };
    bool helps = false;
    for (std::size_t t = 0; t < count && !helps; ++t) helps = live[t] > workload.budget && lies_in_it(t);
    if (!helps) continue;
    for (std::size_t t = one.gap.after + 1; t < one.gap.before; ++t) live[t % count] -= one.bytes;
    again.insert(one.makers.begin(), one.makers.end());
    result.bytes += one.bytes;
  }
  if (std::any_of(live.begin(), live.end(), [&](std::int64_t bytes) { return bytes > workload.budget; }))
    return std::nullopt;
  result.operations = again.size();
  result.time_ns = iteration_time(workload);
  for (const std::uint32_t operation : again)
    result.time_ns += static_cast<double>(workload.operations[operation].duration_ns);
  return result;
}

std::optional<Alternatives::SmallerBatch> smaller_batch(const Workload& workload) {
  std::unordered_set<std::int64_t> lasting;
  for (const Tensor& tensor : workload.tensors) {
    if (tensor.persistent) lasting.insert(tensor.size);
  }
  Workload fixed = workload;  // only what does not scale
  std::vector<bool> scales(workload.tensors.size());
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    scales[t] = !workload.tensors[t].persistent && !lasting.contains(workload.tensors[t].size);
    if (scales[t]) fixed.tensors[t].size = 0;
  }
  const std::vector<std::int64_t> all = allocated_bytes(workload), stay = allocated_bytes(fixed);
  Alternatives::SmallerBatch result{1, 0};
  for (std::size_t t = 0; t < all.size(); ++t) {
    if (stay[t] > workload.budget) return std::nullopt;
    if (all[t] <= workload.budget || all[t] == stay[t]) continue;
    result.share = std::min(
        result.share, static_cast<double>(workload.budget - stay[t]) / static_cast<double>(all[t] - stay[t]));
  }
  if (result.share <= 0) return std::nullopt;
  double with_batch = 0, without = 0;
  for (const Operation& operation : workload.operations) {
    const bool any = std::any_of(operation.accesses.begin(), operation.accesses.end(),
                                 [&](const Access& access) { return scales[access.tensor]; });
    (any ? with_batch : without) += static_cast<double>(operation.duration_ns);
    without += static_cast<double>(operation.gap_ns);
  }
  result.time_ns = with_batch + without / result.share;
  return result;
}

}  // namespace

Alternatives estimate_alternatives(const Workload& workload) {
  return {recompute(workload), smaller_batch(workload)};
}

}  // namespace tferry::analyzer
