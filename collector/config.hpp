#pragma once

#include "trace/range_request.hpp"

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
  bool blocking_calls = false;            ///< of the driver's API, see blocking_driver_calls
  trace::RangeRequest range;              ///< what of the job is recorded
  bool stop_after_range = false;          ///< nothing is recorded after the first range
  std::int64_t spool_limit = 0;           ///< bytes, 0: none
  std::int64_t keep_last_ns = 0;          ///< only the last so long is kept, 0: everything
  std::int64_t flush_interval_ns = 200'000'000;
  std::int64_t exit_timeout_ns = 10'000'000'000;  ///< the job waits no longer for the last flush
  std::size_t buffers = 256;                      ///< of 256 KiB; memory is taken as they are used
  std::size_t ready_buffers = 16;                 ///< of these touched at the start
  std::string error;                              ///< what could not be understood; empty: nothing

  static Config from_environment();
};

/// What says where the rest happened, and costs nothing: recorded from the start, whatever the range.
bool is_structure(CUpti_ActivityKind kind);

/// The driver's calls that can hold a thread up: allocations, waits, copies that are not asynchronous,
/// mapping, loading of modules. Launches and asynchronous copies are not among them: hooks see those.
const std::vector<CUpti_CallbackId>& blocking_driver_calls();

/// Takes a list such as "kernel,memcpy,um" (trace/job_environment.hpp, kCollect) over into `config`; null or
/// empty means the usual one. Devices, contexts and streams are always recorded. False if a name is unknown:
/// `config.error` says which, and the names that are known count.
bool choose_kinds(const char* list, Config& config);

}  // namespace tferry::collector
