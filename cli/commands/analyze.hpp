#pragma once

#include "analyzer/session/analysis.hpp"
#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"

#include <optional>
#include <string>
#include <string_view>

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

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  AnswerOptions answer_;
  std::string session_, output_, budget_, link_, chunk_, movable_;
  double oversubscribe_ = 0;
  bool no_plan_ = false;
};

/// "h2d=55.3GB/s,d2h=55.3GB/s,duplex=92GB/s": duplex is the sum of both directions while both are busy; it
/// may be left out, then it is what it is by default in proportion. Throws Failure.
analyzer::LinkRates parse_link(std::string_view text);

}  // namespace tferry::cli
