#include "cli/report/iteration_times.hpp"

#include <algorithm>
#include <map>

namespace tferry::cli {
namespace {

struct Span {
  std::int64_t number, start_ns, operations;
  bool regular, timed;
  std::int64_t micro_batches, synchronisations;
};

/// What the operations of an iteration tell of it.
struct Members {
  std::optional<std::int64_t> device;
  std::int64_t operations = 0;
  bool timed = false;
};

/// By iteration. There may be millions of operations, those of an iteration one after the other: to walk past
/// them is quicker than to have them grouped.
std::map<std::int64_t, Members> members_of(const Scope& scope) {
  std::map<std::int64_t, Members> all;
  std::int64_t last_id = 0;
  Members* last = nullptr;
  scope.select(
      "SELECT iteration_id, device_id, start_ns IS NOT NULL FROM operation WHERE iteration_id IS NOT "
      "NULL AND " +
          scope.condition("process_id", "device_id", ""),
      [&](trace::Statement& row) {
        if (last == nullptr || row.integer(0) != last_id) {
          last_id = row.integer(0);
          last = &all[last_id];
          row.get(1, last->device);
        }
        ++last->operations;
        last->timed = last->timed || row.integer(2) != 0;
      });
  return all;
}

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
  const std::map<std::int64_t, Members> members = members_of(scope);
  scope.select(
      "SELECT iteration.process_id, pid, iteration.id, number, iteration.start_ns, regular, "
      "coalesce(micro_batches, 1), coalesce(synchronisations, 0) FROM iteration JOIN process ON process.id = "
      "iteration.process_id WHERE " +
          scope.condition("iteration.process_id", "", "iteration.start_ns") + " ORDER BY 1, number",
      [&](trace::Statement& row) {
        const auto found = members.find(row.integer(2));
        if (found == members.end()) return;
        pids[row.integer(0)] = row.integer(1);
        const Members& has = found->second;
        ranks[{row.integer(0), has.device}].push_back({row.integer(3), row.integer(4), has.operations,
                                                       row.integer(5) != 0, has.timed, row.integer(6),
                                                       row.integer(7)});
      });
  std::vector<IterationTimes> result;
  for (const auto& [rank, spans] : ranks) {
    IterationTimes times;
    times.process_id = rank.first;
    times.pid = pids[rank.first];
    times.device_id = rank.second;
    times.iterations = static_cast<std::int64_t>(spans.size());
    for (const Span& span : spans) {
      times.micro_batches = std::max(times.micro_batches, span.micro_batches);
      times.synchronisations = std::max(times.synchronisations, span.synchronisations);
      if (span.synchronisations > 0) times.synchronising.push_back(span.number);
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
