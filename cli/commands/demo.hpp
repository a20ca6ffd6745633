#pragma once

#include "cli/commands/common_options.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry demo`: the C++ sample's twin on the software driver, first as it is and then under `tferry run`
/// with a third of its footprint; both answers have to be the same. Needs no GPU, and says so.
class DemoCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  /// 0: both runs gave the same right answer; 1: they did not. Throws Failure where a part is not built.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
};

}  // namespace tferry::cli
