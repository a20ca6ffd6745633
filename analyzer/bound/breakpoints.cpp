#include "analyzer/bound/breakpoints.hpp"

#include "analyzer/workload/operation_sums.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tferry::analyzer {

std::vector<std::int64_t> live_bytes(const Workload& workload, const Uses& uses) {
  const std::size_t count = workload.operations.size();
  OperationSums live(count);
  for (const Gap& gap : gaps(workload, uses)) {
    if (gap.needed) live.add(gap.after + 1, gap.before, workload.tensors[gap.tensor].size);
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (const Use& use : uses.of_operation(i)) live.add(i, i + 1, workload.tensors[use.tensor].size);
  }
  return live.by_operation();
}

std::vector<std::uint32_t> choose_breakpoints(const Workload& workload, const Uses& uses, std::size_t most) {
  const std::size_t count = workload.operations.size();
  std::vector<std::uint32_t> points;
  if (count <= most) {
    points.resize(count);
    std::iota(points.begin(), points.end(), 0);
    return points;
  }
  const std::vector<std::int64_t> live = live_bytes(workload, uses);
  double time = 1;
  double bytes = 1;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<double>(workload.operations[i].duration_ns);
    bytes += static_cast<double>(std::abs(live[i] - live[(i + count - 1) % count]));
  }
  const double share = 2.0 / static_cast<double>(most / 3);  // of time and of bytes, each of which makes one
  double filled = share;
  std::uint32_t lowest = 0;
  std::uint32_t highest = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (live[i] < live[lowest]) lowest = i;
    if (live[i] > live[highest]) highest = i;
    filled += static_cast<double>(workload.operations[i].duration_ns) / time +
              static_cast<double>(std::abs(live[i] - live[(i + count - 1) % count])) / bytes;
    if (filled < share && i + 1 < count) continue;
    points.insert(points.end(), {lowest, highest, i});
    filled = 0;
    lowest = highest = static_cast<std::uint32_t>(std::min<std::size_t>(i + 1, count - 1));
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

}  // namespace tferry::analyzer
