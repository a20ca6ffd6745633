#pragma once

#include "analyzer/placement/placed_plan.hpp"
#include "analyzer/session/analysis.hpp"
#include "trace/session.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// Who made a plan; lookahead, where it does not say.
std::string planner_name(const Plan& plan);

/// The row of a placed plan, without id. `rank` has what the plan was made from.
trace::PlanRow plan_row(const RankAnalysis& rank, const PlacedPlan& placed);

/// Inserts a plan's row and its actions; returns its id. `tensor_ids` are those of typical->tensors; none
/// where the session has no tensors.
std::int64_t insert_plan(trace::SessionWriter& writer, const trace::PlanRow& row, const RankAnalysis& rank,
                         const PlacedPlan& placed, std::span<const std::int64_t> tensor_ids);

/// SHA-256 of what a plan says: budget, chunks, operations, and every action with the name of its tensor.
/// Two plans with the same digest are the same plan.
std::string plan_digest(const trace::PlanRow& row, const Plan& plan, const Workload& workload);

/// What tells one program's iteration from another's.
std::int64_t iteration_signature(const RankAnalysis& rank);

}  // namespace tferry::analyzer
