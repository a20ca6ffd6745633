#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
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

/// Where less memory begins to cost most: of the points between the first and the last, the one furthest
/// below the straight line through these two in a plot of `planned_ns` over `budget`, both scaled to go from
/// 0 to 1 (Satopaa et al., "Finding a Kneedle in a Haystack", 2011, without its smoothing). Nothing where the
/// curve is flat (less than 1 % from its least to its most), a straight line, or bent the other way only.
/// Points by falling budget. Pure.
std::optional<std::size_t> knee(std::span<const CurvePoint> points);

}  // namespace tferry::analyzer
