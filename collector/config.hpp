#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::collector {

/// The collector's settings, read once from the environment (trace/job_environment.hpp).
struct Config {
  std::string run_directory;              ///< empty: nothing is recorded
  std::vector<CUpti_ActivityKind> kinds;  ///< in the order in which they are enabled
  bool unified_memory = false;            ///< needs a context first, so it stands apart
  std::int64_t spool_limit = 0;           ///< bytes, 0: none
  std::int64_t flush_interval_ns = 200'000'000;
  std::int64_t exit_timeout_ns = 10'000'000'000;  ///< the job waits no longer for the last flush
  std::size_t buffers = 256;                      ///< of 256 KiB; memory is taken as they are used
  std::size_t ready_buffers = 16;                 ///< of these touched at the start
  std::string error;                              ///< what could not be understood; empty: nothing

  static Config from_environment();
};

/// Takes a list such as "kernel,memcpy,um" (trace/job_environment.hpp, kCollect) over into `config`; null or
/// empty means the usual one. Devices, contexts and streams are always recorded. False if a name is unknown:
/// `config.error` says which, and the names that are known count.
bool choose_kinds(const char* list, Config& config);

}  // namespace tferry::collector
