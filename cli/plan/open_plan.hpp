#pragma once

#include "analyzer/session/stored_plan.hpp"
#include "cli/plan/plan_reference.hpp"

#include <string>

namespace tferry::cli {

/// Loads and checks the plan. Throws Failure with the reason where it cannot be used, trace::SessionError
/// where the session cannot be read.
analyzer::StoredPlan open_plan(const PlanReference& reference);

/// "gpt2.tferry, plan 2 (lookahead)".
std::string plan_name(const PlanReference& reference, const analyzer::StoredPlan& stored);

/// "by its own and a neighbour's link, 108.0 GB/s in and 108.6 GB/s out, assumed"; empty for a
/// plan whose contents go by the GPU's own link.
std::string planned_link(const analyzer::StoredPlan& stored);

/// "40 moves, 5.19 GB out and 5.19 GB in an iteration; predicted 218.5 ms, bound 211.6 ms, in memory 180.5
/// ms; budget ...".
std::string describe(const analyzer::StoredPlan& stored);

}  // namespace tferry::cli
