#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tferry::cli {

/// Exit codes of our own, as env(1), nohup(1) and docker use them. Everything else is the job's.
enum ExitCode : int { kOk = 0, kOwnFailure = 125, kNotExecutable = 126, kNotFound = 127 };

/// What cannot go on: what happened and to what (`what()`), what to do about it (`remedy()`), and the exit
/// code.
class Failure : public std::runtime_error {
 public:
  Failure(const std::string& what, std::string remedy, int exit_code = kOwnFailure)
      : std::runtime_error(what), remedy_(std::move(remedy)), exit_code_(exit_code) {}

  const std::string& remedy() const noexcept { return remedy_; }
  int exit_code() const noexcept { return exit_code_; }

 private:
  std::string remedy_;
  int exit_code_;
};

}  // namespace tferry::cli
