#pragma once

#include <string>
#include <sys/types.h>

namespace tferry::trace {

/// A file in the run directory by which the collector in a process tells the runtime in the same process that
/// CUPTI records unified memory there: it is made when CUPTI has agreed, which is when the first context has
/// been made, before anything is allocated in it. Both libraries hide their symbols, so a file it is.
inline std::string unified_memory_sign(const std::string& run_directory, pid_t process) {
  return run_directory + "/unified_memory." + std::to_string(process);
}

}  // namespace tferry::trace
