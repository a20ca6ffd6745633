#pragma once

#include "cli/report/reports.hpp"
#include "gui/report/explain_report.hpp"

#include <string>
#include <vector>

namespace tferry::gui {

/// What the panels of the window show: all answers of `tferry report`, and those below, which are pictures of
/// the same tables and of no use as text. In the order of the tabs.
const std::vector<cli::ReportKind>& panel_reports();
/// Throws cli::Failure for a name that is none.
const cli::ReportKind& find_panel_report(const std::string& name);

std::vector<cli::Table> report_matrix(const cli::Scope& scope);  ///< GPUs by GPUs: time lost per iteration
std::vector<cli::Table> report_late(
    const cli::Scope& scope);  ///< planned against actual movements, by tensor
/// Step time against budget; takes seconds. `step` is told the share that is done.
std::vector<cli::Table> report_curve(const cli::Scope& scope, const Step& step = {});
std::vector<cli::Table> report_why(const cli::Scope& scope);  ///< says how to ask why a tensor moves
std::vector<cli::Table> report_waterfall(
    const cli::Scope& scope);  ///< the parts of an iteration, adding up to it

}  // namespace tferry::gui
