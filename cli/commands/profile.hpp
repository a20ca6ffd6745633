#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/commands/job_options.hpp"
#include "cli/job/recording_setup.hpp"
#include "cli/session/host_facts.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

/// `tferry profile`: runs a program, records what it does on its GPUs, and leaves a session.
class ProfileCommand {
 public:
  /// Registers the command and its options; this object must outlive the parser.
  CLI::App* add_to(CLI::App& program);
  /// The program and its arguments; see take_job.
  void set_job(std::vector<std::string> arguments) { job_ = std::move(arguments); }
  /// Returns the job's exit code, or ends this process by the job's signal; 125 where the job did well and
  /// the session could not be written. Throws Failure.
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  struct Outcome {
    JobEnd end;
    bool written = false;
  };
  Outcome record() const;
  RecordingSettings recording_settings() const;
  void choose_access(RecordingSettings& recording) const;
  HostFacts host_facts(const Environment& environment) const;

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  JobOptions options_;
  std::vector<std::string> job_;
  std::string output_;
  std::string keep_spools_;
  std::string counters_ = "on";
  std::string counter_interval_ = "100us";
  std::string max_size_ = "4GiB";
  std::string keep_last_;
  std::string ranks_;
  std::string range_;
  std::string then_ = "continue";
  std::string names_ = "auto";
  std::string calibration_;
  std::string sysfs_root_ = "/sys";
  bool access_direction_ = false;
  std::string access_;
  bool api_ = false;
  bool unified_memory_ = false;
  bool no_preload_ = false;
};

}  // namespace tferry::cli
