#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/workload/workload.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tferry::analyzer {

inline constexpr std::string_view kPlanSchema = "tferry.plan/1";

/// The form described in docs/plan.md, with the workload's name, budget and count of operations, by which a
/// plan for another workload is noticed. Tensors are named, so names must be unique. Ends with a newline.
std::string to_json(const Plan& plan, const Workload& workload);

/// A plan in JSON as far as it can be read, and everything that is wrong with it, one entry each with the
/// place where it stands. Without errors the plan can be followed.
struct PlanText {
  Plan plan;
  std::vector<std::string> errors;
};
PlanText read_plan(std::string_view text, const Workload& workload);

/// The reverse of to_json, for hand-edited plans too. Throws WorkloadError that names the first
/// place; nothing in the text is trusted, and a plan that plan_errors finds fault with is refused. The
/// prediction is read as it stands: after an edit it is the old one until the plan is simulated again.
Plan plan_from_json(std::string_view text, const Workload& workload);

}  // namespace tferry::analyzer
