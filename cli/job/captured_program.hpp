#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tferry::cli {

/// How a program of ours ended that was run for its output.
struct CapturedRun {
  bool started = false;
  bool in_time = true;
  int exit_code = -1;  ///< -1: it was ended by a signal
  std::string output;  ///< what it printed, at most 64 MiB
};

/// Runs `command` and keeps its standard output; its standard error is ours. After `limit` it is killed. Call
/// it in a process of one thread.
CapturedRun run_captured(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace tferry::cli
