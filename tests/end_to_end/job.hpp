#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tferry::end_to_end {

/// How a program ended and what it said.
struct Ended {
  int code = -1;  ///< exit code, or 128 + signal
  std::string out;
  std::string err;

  /// What follows "answer ok " on the layers sample's last line, up to the comma; empty when it has no
  /// answer.
  std::string answer() const;
};

/// A program that runs. Killed when this goes before it was waited for.
class RunningJob {
 public:
  /// With these variables beside our own environment ("" takes one out).
  RunningJob(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables);
  ~RunningJob();
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  void send(int signal) const;
  /// Waits for its end, or kills it after so many seconds.
  Ended wait(double seconds = 100);

 private:
  std::FILE* out_;
  std::FILE* err_;
  pid_t child_;
};

/// Runs a program to its end with these variables beside our own environment ("" takes one out).
Ended run_job(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables);

}  // namespace tferry::end_to_end
