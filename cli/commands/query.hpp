#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry query 'SELECT ...' [SESSION]`: SQL on a session that is open for reading only.
class QueryCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  AnswerOptions answer_;
  std::string first_, second_;
};

}  // namespace tferry::cli
