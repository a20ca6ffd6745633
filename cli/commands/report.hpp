#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry report NAME... [SESSION]`: answers questions about a session.
class ReportCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  AnswerOptions answer_;
  ScopeOptions scope_;
  std::vector<std::string> words_;
  std::vector<std::string> memory_by_;
  std::string memory_at_ = "peak";
};

}  // namespace tferry::cli
