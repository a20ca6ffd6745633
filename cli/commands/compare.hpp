#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry compare A B`: what differs, in figures; with --structure: did both recordings see the same
/// operations and allocations?
class CompareCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  /// 0: the same; 1: they differ.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  AnswerOptions answer_;
  bool structure_ = false;
  std::string left_, right_;
};

}  // namespace tferry::cli
