#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tferry::cli {

/// What /proc and /sys tell about the machine and what this process may use of it. Unset: not told.
struct Machine {
  std::optional<bool> counters_for_all;       ///< the driver gives performance counters to every user
  bool managed_memory_driver = false;         ///< the module nvidia_uvm is loaded
  std::set<int> allowed_cpus;                 ///< of this process
  std::map<int, std::set<int>> cpus_of_node;  ///< by NUMA node
  std::optional<double> cpu_limit;            ///< CPUs that the control group grants
  std::optional<std::int64_t> process_limit;  ///< processes that the control group grants
  std::optional<std::int64_t> file_limit;     ///< open files (RLIMIT_NOFILE)
};

/// Reads below `root`; nothing there is trusted.
Machine read_machine(const std::filesystem::path& root = "/");

/// CPUs of "0-3,8"; empty if it is no such list.
std::set<int> parse_cpu_list(const std::string& text);

}  // namespace tferry::cli
