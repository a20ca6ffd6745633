#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// One of the answers of `tferry report`.
struct ReportKind {
  const char* name;
  const char* what;  ///< one line for the help
  std::vector<Table> (*make)(const Scope& scope);
};

/// All of them, in the order of the help.
const std::vector<ReportKind>& report_kinds();
/// Throws Failure, listing the names, for one that is none.
const ReportKind& find_report(const std::string& name);

std::vector<Table> report_summary(const Scope& scope);  ///< job, GPUs, time, memory, analysis, losses
std::vector<Table> report_kernels(const Scope& scope);  ///< time by kernel
std::vector<Table> report_transfers(
    const Scope& scope);  ///< copies by direction and owner; what the runtime moved
std::vector<Table> report_memory(const Scope& scope);   ///< live bytes, their peak, and what is alive at it
std::vector<Table> report_tensors(const Scope& scope);  ///< allocations that recur in every iteration
std::vector<Table> report_contention(const Scope& scope);  ///< time that transfers lost, to whom, and when
std::vector<Table> report_causes(const Scope& scope);      ///< time lost by cause
std::vector<Table> report_links(const Scope& scope);       ///< use of the links, exposed and hidden transfers
std::vector<Table> report_idle(const Scope& scope);        ///< what each GPU did while it did not compute
std::vector<Table> report_launch(const Scope& scope);      ///< from the launch to the start of a kernel
std::vector<Table> report_quality(const Scope& scope);     ///< everything that is missing, counted
std::vector<Table> report_analysis(const Scope& scope);    ///< iterations, bound, simulated policies
std::vector<Table> report_advice(const Scope& scope);      ///< what follows from it, and what to do
std::vector<Table> report_plan(const Scope& scope);        ///< plans, and what moves under the newest

/// The same, with what moves under the plan of that number.
std::vector<Table> report_plan_of(const Scope& scope, std::optional<std::int64_t> plan);

/// C++ names as people write them; others as they are.
std::string demangled(const std::string& name);

}  // namespace tferry::cli
