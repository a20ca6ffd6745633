#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

/// How a program ended that was run for its output.
struct CapturedRun {
  bool started = false;
  bool in_time = true;
  bool complete = true;  ///< false: it printed more than is kept
  int exit_code = -1;    ///< -1: it was ended by a signal
  int signal = 0;
  std::string output;  ///< what it printed, at most 64 MiB
};

/// Runs `command` in a process group of its own and keeps its standard output; its standard input is `input`,
/// or ours, its standard error ours. After `limit`, or when it prints too much, the group is killed. Call it
/// in a process of one thread.
CapturedRun run_captured(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                         std::optional<std::string_view> input = std::nullopt);

}  // namespace tferry::cli
