#include "gui/report/panel_reports.hpp"

#include "cli/report/memory_by.hpp"

#include <algorithm>

namespace tferry::gui {
namespace {

struct Added {
  const char* after;  ///< the answer of `tferry report` that it stands behind
  cli::ReportKind kind;
};

/// Where the program named its memory, by module, too.
std::vector<cli::Table> report_memory_with_modules(const cli::Scope& scope) {
  std::vector<cli::Table> tables = cli::report_memory(scope);
  if (scope.session().count<trace::AllocationNameRow>() == 0) return tables;
  for (cli::Table& table : cli::report_memory_by(scope, {"category", "module"}))
    tables.push_back(std::move(table));
  return tables;
}

const Added kAdded[] = {
    {"contention", {"matrix", "which GPU lost how much to which, per iteration", report_matrix}},
    {"plan", {"late", "planned and actual movements, and the time lost, by tensor", report_late}},
    {"plan", {"why", "why a plan moves a tensor, or lets it stay: X on a tensor", report_why}},
    {"plan",
     {"curve", "step time against budget; a click shows that plan",
      [](const cli::Scope& scope) { return report_curve(scope); }}},
    {"plan", {"waterfall", "the parts of an iteration, adding up to what was measured", report_waterfall}},
};

}  // namespace

const std::vector<cli::ReportKind>& panel_reports() {
  static const std::vector<cli::ReportKind> reports = [] {
    std::vector<cli::ReportKind> all;
    for (const cli::ReportKind& kind : cli::report_kinds()) {
      all.push_back(kind);
      if (std::string(kind.name) == "memory") all.back().make = report_memory_with_modules;
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
