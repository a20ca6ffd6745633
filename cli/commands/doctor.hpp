#pragma once

#include "cli/commands/common_options.hpp"
#include "cli/doctor/finding.hpp"

#include <string>
#include <vector>

namespace tferry::cli {

/// `tferry doctor`: looks at the machine and says what works, what is lost and how to mend it. Its findings
/// are its result and go to standard output. Exit code 0 all usable, 1 something is lost, 2 nothing works.
class DoctorCommand {
 public:
  CLI::App* add_to(CLI::App& program);
  int execute() const;

  const CommonOptions& common() const noexcept { return common_; }

 private:
  CommonOptions common_;
  int time_limit_s_ = 20;
  std::string purpose_;
  std::string bundle_;
  std::string sysfs_root_ = "/sys";
};

}  // namespace tferry::cli
