#include "cli/commands/compare.hpp"

#include "cli/failure.hpp"
#include "cli/report/compare_report.hpp"
#include "cli/report/reports.hpp"
#include "cli/session/structure.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tferry::cli {
namespace {

constexpr std::size_t kMostKernels = 20;

std::string item_text(const std::string& item) { return item.empty() ? "its end" : "\"" + item + "\""; }

/// Adds a row; false if they differ.
bool compare(Table& table, const std::string& label, const char* what, const std::vector<std::string>& left,
             const std::vector<std::string>& right) {
  const SequenceDifference difference = compare_sequences(left, right);
  const bool same = difference.first < 0;
  table.add(KnownBy::kMeasured, {label, what, difference.left, difference.right, same ? "yes" : "no",
                                 same ? Cell("-") : Cell(difference.first)});
  if (!same) {
    table.notes.push_back(fmt::format("{}: the {} differ from number {} on: {} against {}", label, what,
                                      difference.first, item_text(difference.left_item),
                                      item_text(difference.right_item)));
  }
  return same;
}

}  // namespace

CLI::App* CompareCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "compare", "Tell what differs between two sessions: times, bytes, who loses time to whom");
  app->footer("With --structure exit code 0: the same; 1: they differ.");
  app->add_flag("--structure", structure_,
                "Say whether both saw the same operations and allocations, whatever their times");
  app->add_option("A", left_, "One session")->required()->type_name("SESSION");
  app->add_option("B", right_, "The other")->required()->type_name("SESSION");
  answer_.add_to(*app);
  common_.add_to(*app, "the answer");
  return app;
}

int CompareCommand::execute() const {
  trace::Session left = trace::Session::open(left_);
  trace::Session right = trace::Session::open(right_);
  if (!structure_) {
    std::vector<Table> tables = compare_sessions(Scope(left, {}), Scope(right, {}));
    if (std::vector<Row>& kernels = tables.back().rows; kernels.size() > kMostKernels) {
      tables.back().notes.push_back(fmt::format("{} more kernels", kernels.size() - kMostKernels));
      kernels.resize(kMostKernels);
    }
    tables.front().notes.push_back(fmt::format("above: {}; below: {}", left_, right_));
    answer_.answer(tables, left_, common_);
    return 0;
  }
  const std::vector<Structure> ours = read_structures(left), theirs = read_structures(right);
  Table table(
      "compare", fmt::format("Structure of {} and {}", left_, right_),
      {{"rank"}, {"what"}, {"in_a", Unit::kCount}, {"in_b", Unit::kCount}, {"same"}, {"first_difference"}});
  bool same = ours.size() == theirs.size();
  if (!same) {
    table.notes.push_back(
        fmt::format("{} and {} processes and GPUs did something", ours.size(), theirs.size()));
  }
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    same &= compare(table, ours[i].label, "operations", ours[i].operations, theirs[i].operations);
    same &= compare(table, ours[i].label, "allocations", ours[i].allocations, theirs[i].allocations);
  }
  if (ours.empty() && theirs.empty())
    table.notes.emplace_back("neither session holds any operation of a GPU");
  answer_.answer({table}, left_, common_);
  return same ? 0 : 1;
}

}  // namespace tferry::cli
