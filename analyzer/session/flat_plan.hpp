#pragma once

#include "analyzer/placement/placed_plan.hpp"
#include "analyzer/session/analysis.hpp"
#include "trace/flat_plan.hpp"
#include "trace/session_rows.hpp"

#include <string>

namespace tferry::analyzer {

/// The plan as the runtime follows it. `row` is the plan's row, with its prediction and bound; `name` is for
/// messages. The result passes trace::flat_plan_error.
trace::FlatPlan make_flat_plan(const RankAnalysis& rank, const PlacedPlan& placed, const trace::PlanRow& row,
                               std::string name);

}  // namespace tferry::analyzer
