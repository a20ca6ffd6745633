#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/report_options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry plan list|show|diff|export|import|check`: plans of a session, to look at, to edit by hand and to
/// check. A session is changed as by `tferry analyze`: a copy beside it takes its name.
class PlanCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CLI::App* add_verb(const char* name, const char* what);
  void list() const;
  void show() const;
  void diff() const;
  void write_json() const;
  void read_json() const;
  void check() const;

  CLI::App* app_ = nullptr;
  CLI::App *list_ = nullptr, *show_ = nullptr, *diff_ = nullptr, *export_ = nullptr, *import_ = nullptr,
           *check_ = nullptr;
  CommonOptions common_;
  AnswerOptions answer_;
  ScopeOptions scope_;
  std::string plan_, other_, file_, output_;
};

}  // namespace tferry::cli
