#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace tferry::analyzer {

/// An iteration under one budget, in ns.
struct CurvePoint {
  double oversubscription = 0;  ///< footprint over budget
  std::int64_t budget = 0;      ///< bytes for the tensors
  double bound_ns = 0;
  double lms_ns = 0;      ///< simulated, without a plan
  double planned_ns = 0;  ///< simulated under lookahead
};

/// From a budget of the footprint down to a third of it, or to the largest working set. `rounds` simulations
/// for each plan. `on_progress` is told the share that is done; what it throws ends the work. Requires a
/// valid workload. Pure.
std::vector<CurvePoint> budget_curve(const Workload& workload, int rounds,
                                     const std::function<void(double)>& on_progress = {});

}  // namespace tferry::analyzer
