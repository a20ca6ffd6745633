#pragma once

#include "cli/report/reports.hpp"

#include <string>
#include <vector>

namespace tferry::gui {

/// What the panels of the window show: all answers of `tferry report`, and those below, which are pictures of
/// the same tables and of no use as text. In the order of the tabs.
const std::vector<cli::ReportKind>& panel_reports();
/// Throws cli::Failure for a name that is none.
const cli::ReportKind& find_panel_report(const std::string& name);

std::vector<cli::Table> report_matrix(const cli::Scope& scope);  ///< GPUs by GPUs: time lost per iteration

}  // namespace tferry::gui
