#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tferry::cli {

/// What a probe said, or how it failed.
struct ProbeAnswer {
  bool ok = false;
  std::string
      text;  ///< the probe's result, or in words why there is none: "it took longer than 10 s", "signal 11"
};

/// Runs `probe` in a child process, so that a driver that crashes or hangs takes nothing with it: at the time
/// limit the child is killed, and not waited for if it cannot die. At most 1 MiB of its answer is kept. Call
/// it in a process of one thread.
ProbeAnswer run_probe(const std::function<std::string()>& probe, std::chrono::milliseconds limit);

}  // namespace tferry::cli
