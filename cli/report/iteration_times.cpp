#include "cli/report/iteration_times.hpp"

#include <algorithm>
#include <map>

namespace tferry::cli {
namespace {

struct Span {
  std::int64_t number, start_ns, operations;
  bool regular, timed;
};

std::optional<std::int64_t> median_step(const std::vector<Span>& spans) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const Span& before = spans[i - 1];
    if (before.regular && before.timed && spans[i].timed && spans[i].number == before.number + 1) {
      steps.push_back(spans[i].start_ns - before.start_ns);
    }
  }
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace

std::vector<IterationTimes> iteration_times(const Scope& scope) {
  using Rank = std::pair<std::int64_t, std::optional<std::int64_t>>;
  std::map<Rank, std::vector<Span>> ranks;
  std::map<std::int64_t, std::int64_t> pids;
  scope.select(
      "SELECT iteration.process_id, pid, operation.device_id, iteration.number, iteration.start_ns, "
      "iteration.regular, "
      "count(*), count(operation.start_ns) FROM iteration JOIN process ON process.id = iteration.process_id "
      "JOIN "
      "operation ON operation.iteration_id = iteration.id WHERE " +
          scope.condition("iteration.process_id", "operation.device_id", "iteration.start_ns") +
          " GROUP BY iteration.id ORDER BY iteration.process_id, operation.device_id, iteration.number",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device;
        row.get(2, device);
        pids[row.integer(0)] = row.integer(1);
        ranks[{row.integer(0), device}].push_back(
            {row.integer(3), row.integer(4), row.integer(6), row.integer(5) != 0, row.integer(7) > 0});
      });
  std::vector<IterationTimes> result;
  for (const auto& [rank, spans] : ranks) {
    IterationTimes times;
    times.process_id = rank.first;
    times.pid = pids[rank.first];
    times.device_id = rank.second;
    times.iterations = static_cast<std::int64_t>(spans.size());
    for (const Span& span : spans) {
      if (!span.regular) continue;
      ++times.regular;
      times.operations = span.operations;
    }
    times.median_ns = median_step(spans);
    result.push_back(times);
  }
  return result;
}

}  // namespace tferry::cli
