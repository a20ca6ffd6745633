#pragma once

#include "analyzer/session/stored_plan.hpp"
#include "cli/report/table.hpp"

#include <string>
#include <vector>

namespace tferry::cli {

/// What two plans predict beside each other, and what one of them moves otherwise than the other: tensors by
/// their names and by the operation after which they leave, largest difference first.
std::vector<Table> plan_diff(const analyzer::StoredPlan& one, const std::string& one_name,
                             const analyzer::StoredPlan& other, const std::string& other_name);

}  // namespace tferry::cli
