#pragma once

#include "cli/commands/common_options.hpp"
#include "trace/calibration.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry calibrate`: measures what this machine's links can do, alone and together, prints it, and keeps it
/// for the sessions that are recorded here. The measuring is done by tferry-calibrate, a process of its own.
class CalibrateCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  /// Throws Failure if nothing could be measured.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  trace::Calibration measure() const;

  CommonOptions common_;
  int time_limit_s_ = 300;
  int repeats_ = 5;
  std::vector<int> gpus_;
  std::string buffer_;
  std::string run_;
  std::string show_;
  bool keep_ = true;
};

}  // namespace tferry::cli
