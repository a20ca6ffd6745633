#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/coordination_options.hpp"
#include "cli/commands/job_options.hpp"
#include "cli/job/launcher.hpp"

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

class Console;
class PlannedRun;

/// `tferry run`: runs a program under a budget of GPU memory, or a plan, and tells afterwards what that took.
class RunCommand {
 public:
  /// Registers the command and its options; this object must outlive the parser.
  CLI::App* add_to(CLI::App& program);
  /// The program and its arguments; see take_job.
  void set_job(std::vector<std::string> arguments) { job_ = std::move(arguments); }
  /// Returns the exit code, or ends this process by the job's signal. Throws Failure.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  JobEnd run() const;
  /// Whether a plan is to be made while the job runs.
  bool plans_itself(const JobSettings& settings) const;
  /// Begins the session of a run under a plan. What cannot be written then is a warning.
  void begin_session(PlannedRun& planned, const Environment& environment, const Console& console) const;

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  std::vector<std::string> job_;
  JobOptions options_;
  CoordinationOptions coordination_;
  std::string plan_, output_;
  bool no_live_plan_ = false;
};

}  // namespace tferry::cli
