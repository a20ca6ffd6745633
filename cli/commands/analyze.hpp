#pragma once

#include "analyzer/session/analysis.hpp"
#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"
#include "cli/report/table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry analyze`: finds iterations, tensors, bound and simulated times, and stores them.
///
/// A session is never changed where it lies: the analysis goes into a copy beside it, which then takes its
/// name (or that of -o), so that a reader sees the one or the other. The recorded tables stay as they are.
class AnalyzeCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  analyzer::AnalysisOptions options() const;
  /// That of --planner exec:PROGRAM; empty: ours.
  analyzer::Planner other_planner() const;
  /// That of --effort.
  analyzer::Effort effort() const;
  /// Answers to --curve, --explain and --what-if.
  void add_asked_for(const std::vector<analyzer::RankAnalysis>& ranks, std::vector<Table>& tables) const;

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  AnswerOptions answer_;
  std::string route_ = "direct";
  std::string session_, output_, budget_, link_, assume_solo_, chunk_, movable_, explain_, what_if_;
  std::string planner_ = "lookahead", planner_limit_ = "600s", effort_ = "normal";
  double oversubscribe_ = 0;
  int ranks_share_ = 0;
  bool no_plan_ = false;
  bool curve_ = false;
};

}  // namespace tferry::cli
