#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tferry::cli {

/// Host memory that this process may use, in bytes. Unset: not told by the system.
struct HostMemory {
  std::optional<std::int64_t> total;        ///< MemTotal; a virtual machine may grow beyond it
  std::optional<std::int64_t> available;    ///< MemAvailable
  std::optional<std::int64_t> group_limit;  ///< smallest limit of the control groups above us; unset: none
  std::optional<std::int64_t> group_used;   ///< in the group that has that limit

  /// What the group leaves, or what the machine has available where there is no limit.
  std::optional<std::int64_t> usable() const;
};

/// Reads /proc and /sys below `root` (cgroup v2, and v1's memory controller). Nothing there is trusted.
HostMemory read_host_memory(const std::filesystem::path& root = "/");

}  // namespace tferry::cli
