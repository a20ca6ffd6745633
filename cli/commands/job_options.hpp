#pragma once

#include "cli/job/job_settings.hpp"
#include "cli/job/launcher.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tferry::cli {

struct CommonOptions;
class Environment;

/// The options of every command that runs a job under the runtime library, as they stand on the command line.
struct JobOptions {
  std::string budget = "auto";
  std::string host_budget, reserve, chunk, movable, managed_limit;
  std::string allocator = "auto";
  std::string memory = "explicit";
  std::string policy;
  std::string route;
  bool allow_oversubscription = false;
  bool verify = false;

  void add_to(CLI::App& command);
  /// How memory is served and what leaves when: of runs only. Managed memory is not recorded.
  void add_ways_to(CLI::App& command);
  /// Checked. Throws Failure.
  JobSettings settings(const CommonOptions& common) const;
};

/// What is executed for a job's words, found as a shell would. Throws Failure where there is none.
JobCommand find_job(const std::vector<std::string>& words, const Environment& environment);

}  // namespace tferry::cli
