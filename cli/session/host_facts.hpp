#pragma once

#include "cli/topology/pcie_tree.hpp"
#include "trace/calibration.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// What a session tells about the host that it was recorded on, and no process of the job could: kept beside
/// the spools as host.json, so that a later `tferry merge`, perhaps elsewhere, has it, too.
struct HostFacts {
  static constexpr const char* kFile = "host.json";

  std::string host;
  std::string boot_id;  ///< CLOCK_MONOTONIC is one clock within it
  /// How far CLOCK_REALTIME may be off, as the kernel estimates it; unset: nothing keeps it synchronised.
  std::optional<std::int64_t> clock_error_ns;
  std::vector<PcieLink> links;
  std::optional<trace::Calibration> calibration;  ///< of this machine's links
};

/// Of the machine that this runs on.
HostFacts read_host_facts(const std::filesystem::path& sysfs_root = "/sys");

std::string to_json(const HostFacts& facts);
/// Unset if there is no such file, or none that can be understood.
std::optional<HostFacts> read_host_facts_file(const std::filesystem::path& file);

}  // namespace tferry::cli
