#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <functional>

namespace tferry::analyzer {

struct LookaheadOptions {
  int rounds = 100;        ///< simulations to spend
  std::uint32_t seed = 1;  ///< of the local search
  SimulationOptions simulation;
  /// Gaps that this plan parks are taken last: for ranks that move different tensors. Must outlive the
  /// planning.
  const Plan* avoid = nullptr;
  /// Called before each simulation, for whoever shows progress; what it throws ends the planning.
  std::function<void()> on_simulation = {};
};

/// Plans which bytes leave after which operation and when they return.
///
/// 1. A walk around the iteration takes bytes away wherever the live ones exceed the budget: those whose
///    next use is furthest (Belady's rule, which moves the fewest), those whose gap lasts longest, or those
///    whose gap leaves the same time on both sides of the peak; each with up to sixteen transfers' worth
///    more than needed, so that transfers have time. The best of these starts goes on.
/// 2. Returns are set as early as the room that the other actions leave allows, nearest need first.
/// 3. The simulator judges. The worths of a few gaps around operations that stall are changed at random,
///    and the walk is repeated; the best plan is kept.
///
/// The result passes plan_errors. Empty when everything fits. Requires a valid workload. Deterministic; any
/// thread.
Plan plan_lookahead(const Workload& workload, const LookaheadOptions& options = {});

}  // namespace tferry::analyzer
