#pragma once

#include <map>
#include <string>
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

/// Runs a program to its end with these variables beside our own environment ("" takes one out).
Ended run_job(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables);

}  // namespace tferry::end_to_end
