#pragma once

#include "cli/commands/common_options.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry view`: opens the viewer, or has it write a picture. The viewer is a program of its own,
/// tferry-gui, so that this one runs where there is no Qt.
class ViewCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  /// Becomes the viewer and does not return, or throws Failure where it is not there.
  int execute() const;
  /// The viewer's command line.
  std::vector<std::string> arguments() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  std::string session_, compare_, screenshot_, from_, to_, size_, theme_, benchmark_;
};

}  // namespace tferry::cli
