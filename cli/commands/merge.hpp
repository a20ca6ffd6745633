#pragma once

#include "cli/commands/common_options.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry merge SPOOLS... -o FILE`: makes a session of spools, of folders of them, and of what a launcher
/// left that died.
class MergeCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  std::vector<std::string> sources_;
  std::string output_;
};

}  // namespace tferry::cli
