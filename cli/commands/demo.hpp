#pragma once

#include "cli/commands/common_options.hpp"

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry demo`: what Tensorferry does, without a GPU, and says so.
/// - recording: the recording of a real job on a real GPU that comes with Tensorferry, analyzed here;
/// - run: the C++ sample's twin on the software driver, first as it is and then under `tferry run` with a
///   third of its footprint; both answers have to be the same.
/// With --synthesize instead a session of made-up events, to try the tools on many of them.
class DemoCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  /// 0: both runs gave the same right answer; 1: they did not. A part that is not there is told and left out;
  /// throws Failure if it was asked for, or if there is none.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  int run_part() const;
  int synthesize() const;

  CommonOptions common_;
  std::string part_ = "both";
  std::string events_;  ///< of a synthetic session; empty: none is asked for
  std::uint64_t seed_ = 1;
  std::string output_;
};

}  // namespace tferry::cli
