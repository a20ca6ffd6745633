#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <string>
#include <vector>

namespace tferry::cli {

/// By what memory can be summed.
const std::vector<std::string>& memory_groups();  // category, module, name

/// What is alive at the peak of each process and GPU, summed by these groups (`tferry report memory --by`),
/// largest first. Memory without a name counts as unknown, never as nothing.
std::vector<Table> report_memory_by(const Scope& scope, const std::vector<std::string>& groups);

}  // namespace tferry::cli
