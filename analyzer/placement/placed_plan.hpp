#pragma once

#include "analyzer/placement/placement.hpp"
#include "analyzer/placement/plan_workload.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/tensors/tensors.hpp"
#include "trace/chunk_size.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tferry::analyzer {

/// A plan that a run can follow, with all that it was made for.
struct PlacedPlan {
  trace::MemoryRules rules;
  MemorySplit split;
  PlanWorkload workload;  ///< its budget is that of the plan's chunks, less the slack
  Plan plan;              ///< `predicted_ns` is the placement's simulated time
  Placement placement;
  /// Share of the plan's chunks that the plan does without, for its tensors to find (better) places.
  double slack = 0;
};

/// A plan, or why there is none.
struct PlanOutcome {
  std::optional<PlacedPlan> plan;
  std::string reason;
};

/// Makes a plan for a workload that passes plan_errors there. What it throws ends the planning.
using Planner = std::function<Plan(const Workload&)>;

/// How many of the spare amounts of room below a plan is made for.
enum class Slacks : std::uint8_t {
  kFirst,  ///< the most of them for which there are places
  kAll     ///< each, and the fastest plan is taken
};

/// Plans and places. `typical` comes from `recording`, counted under `rules`, with the link set. Plans are
/// made for up to 2 % less than there is, since the more room is left, the better the places, and the fastest
/// is taken (of those within a thousandth of it, the one that moves least); where what fits in bytes finds no
/// places in chunks, for up to a tenth less. So `planner` is called several times, for one budget each.
PlanOutcome make_placed_plan(const Recording& recording, const RecordedIteration& typical,
                             const trace::MemoryRules& rules, std::int64_t budget_bytes,
                             const Planner& planner, const SimulationOptions& simulation,
                             Slacks slacks = Slacks::kAll);

/// What may be spent on a plan. More effort tries what less effort tries, and something else besides, and
/// keeps the best: its plan is never predicted to be slower (but by a thousandth where it moves fewer bytes).
struct Effort {
  Slacks slacks = Slacks::kAll;
  /// Whole searches of LookaheadOptions::rounds simulations, from seeds that count on from options.seed.
  int searches = 1;

  static constexpr int kMostSearches = 1000;
  static constexpr Effort fast() { return {Slacks::kFirst, 1}; }
  static constexpr Effort normal() { return {Slacks::kAll, 1}; }
  static constexpr Effort high() { return {Slacks::kAll, 10}; }
};

/// The same by plan_lookahead, the fastest of effort.searches.
PlanOutcome make_placed_plan(const Recording& recording, const RecordedIteration& typical,
                             const trace::MemoryRules& rules, std::int64_t budget_bytes,
                             const LookaheadOptions& options, const Effort& effort = {});

/// The workload that a plan for this budget and slack is made for; the reason if there can be none.
struct PlanBasis {
  std::optional<PlacedPlan> basis;  ///< without plan and placement
  std::string reason;
};
PlanBasis plan_basis(const Recording& recording, const RecordedIteration& typical,
                     const trace::MemoryRules& rules, std::int64_t budget_bytes, double slack);

/// Finds places for a plan made for this basis, as it stands. False: there are none.
bool place(PlacedPlan& basis, Plan plan, const SimulationOptions& options);

}  // namespace tferry::analyzer
