#pragma once

#include "cli/commands/common_options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry import WORKLOAD.json -o FILE`: makes a session of a workload in JSON (docs/workload.md), so that a
/// job from a paper or another simulator can be analyzed and planned like a recorded one.
class ImportCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  std::string source_;
  std::string output_;
};

}  // namespace tferry::cli
