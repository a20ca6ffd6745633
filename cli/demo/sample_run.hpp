#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// What a sample printed on its standard output, and how it ended.
struct SampleRun {
  int exit_code = 0;  ///< 128 + signal where it died of one
  std::vector<std::string> lines;

  /// The answer's hash from the line "answer ok HASH, ..."; unset: there is no such line.
  std::optional<std::string> answer() const;
};

/// Runs a program with `variables` (NAME=VALUE) put over our environment, collecting its standard output, at
/// most 1 MiB; standard error is ours. Throws Failure if it cannot be started.
SampleRun run_sample(const std::vector<std::string>& command, const std::vector<std::string>& variables);

}  // namespace tferry::cli
