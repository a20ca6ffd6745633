#include "gui/report/panel_reports.hpp"

#include <algorithm>

namespace tferry::gui {
namespace {

struct Added {
  const char* after;  ///< the answer of `tferry report` that it stands behind
  cli::ReportKind kind;
};

const Added kAdded[] = {
    {"contention", {"matrix", "which GPU lost how much to which, per iteration", report_matrix}},
    {"plan", {"late", "planned and actual movements, and the time lost, by tensor", report_late}},
    {"plan", {"curve", "step time against budget; a click shows that plan", report_curve}},
    {"plan", {"waterfall", "the parts of an iteration, adding up to what was measured", report_waterfall}},
    {"plan", {"advice", "what follows from all of it", report_advice}},
};

}  // namespace

const std::vector<cli::ReportKind>& panel_reports() {
  static const std::vector<cli::ReportKind> reports = [] {
    std::vector<cli::ReportKind> all;
    for (const cli::ReportKind& kind : cli::report_kinds()) {
      all.push_back(kind);
      for (const Added& added : kAdded) {
        if (std::string(added.after) == kind.name) all.push_back(added.kind);
      }
    }
    return all;
  }();
  return reports;
}

const cli::ReportKind& find_panel_report(const std::string& name) {
  const auto found = std::find_if(panel_reports().begin(), panel_reports().end(),
                                  [&](const cli::ReportKind& kind) { return name == kind.name; });
  return found != panel_reports().end() ? *found : cli::find_report(name);
}

}  // namespace tferry::gui
