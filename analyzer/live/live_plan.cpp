#include "analyzer/live/live_plan.hpp"

#include "analyzer/live/reason_to_wait.hpp"
#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tferry::analyzer {
namespace {

constexpr double kWorthwhile = 0.97;  ///< of the time that an iteration takes without the plan

/// Nanoseconds from the first call of an iteration to that of the next: the median. 0: there is no next.
double iteration_time(const RankAnalysis& rank) {
  const auto& operations = rank.source.recording.operations;
  std::vector<double> times;
  for (const std::uint32_t i : rank.typical->regular) {
    const IterationSpan& span = rank.iterations->spans[i];
    if (span.end < operations.size())
      times.push_back(static_cast<double>(operations[span.end].call_ns - operations[span.begin].call_ns));
  }
  if (times.empty()) return 0;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// What the runtime moved costs time that the job will not need; a quarter of an iteration is work in any
/// case.
double working_time(const RankAnalysis& rank, const LiveRecording& recording, const LinkRates& link) {
  const double time = iteration_time(rank);
  const double share = static_cast<double>(rank.iterations->period) /
                       static_cast<double>(std::max<std::size_t>(1, recording.operations()));
  const double moving = link.time_for(static_cast<double>(recording.bytes_in()) * share,
                                      static_cast<double>(recording.bytes_out()) * share);
  return std::max(time - moving, time / 4);
}

void assume_times(RankAnalysis& rank, double total_ns) {
  constexpr std::int64_t kLaunch = 1 << 20;  // bytes that a launch is worth beside those it names
  RecordedIteration& typical = *rank.typical;
  std::vector<std::int64_t> weights;
  double sum = 0;
  for (const std::vector<std::uint32_t>& named : typical.named) {
    std::int64_t weight = kLaunch;
    for (const std::uint32_t tensor : named) weight += typical.tensors[tensor].tensor.size;
    weights.push_back(weight);
    sum += static_cast<double>(weight);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    typical.workload.operations[i].duration_ns =
        static_cast<std::int64_t>(total_ns * static_cast<double>(weights[i]) / sum);
  }
}

}  // namespace

LivePlan make_live_plan(const LiveRecording& recording, const LivePlanOptions& options) {
  LivePlan result;
  RankAnalysis rank;
  rank.source = recording.recording();
  rank.budget_bytes = options.budget_bytes;
  rank.route = options.route;
  if (!find_typical(rank, options.memory)) {
    result.reason = "its operations show no clear period yet";
    return result;
  }
  result.iterations = rank.typical->regular.size();
  result.reason = reason_to_wait(recording, rank);
  if (!result.reason.empty()) return result;
  rank.typical->workload.link = options.link;
  rank.typical->workload.budget = rank.budget_bytes - rank.typical->resident_bytes;
  const bool timed = 2 * rank.typical->untimed_operations <
                     static_cast<std::int64_t>(rank.typical->workload.operations.size());
  for (Operation& operation : rank.typical->workload.operations) operation.gap_ns = 0;
  if (!timed) assume_times(rank, working_time(rank, recording, options.link));
  PlanOutcome outcome = make_placed_plan(rank.source.recording, *rank.typical, options.memory,
                                         options.budget_bytes, options.planner);
  if (!outcome.plan) {
    result.reason = outcome.reason;
    return result;
  }
  const PlacedPlan& placed = *outcome.plan;
  try {
    validate(rank.typical->workload);
    rank.bound = lower_bound(rank.typical->workload);  // the bytes that it forces do not depend on times
  } catch (const WorkloadError&) {
    // The plan's own workload is valid; what the bound would have told stays unknown.
  }
  result.moves = placed.plan.actions.size();
  result.bytes_out = placed.placement.bytes_out;
  result.bytes_in = placed.placement.bytes_in;
  const double seen = rank.typical->iteration_ns > 0 ? rank.typical->iteration_ns : iteration_time(rank);
  if (result.moves == 0) {
    result.reason = "what repeats itself fits the budget";
    return result;
  }
  if (timed && placed.plan.predicted_ns > kWorthwhile * seen) {
    result.reason = fmt::format("a plan would take {:.1f} ms an iteration, and without one it takes {:.1f}",
                                placed.plan.predicted_ns / 1e6, seen / 1e6);
    return result;
  }
  trace::FlatPlan flat = make_flat_plan(rank, placed, plan_row(rank, placed), options.name);
  result.reason = trace::flat_plan_error(flat);
  if (!result.reason.empty()) return result;
  result.plan = std::move(flat);
  result.placed = std::move(outcome.plan);
  return result;
}

}  // namespace tferry::analyzer
