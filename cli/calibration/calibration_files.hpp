#pragma once

#include "trace/calibration.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace tferry::cli {

class Environment;

/// Where calibrations are kept: $XDG_DATA_HOME/tferry/calibration, or ~/.local/share/tferry/calibration;
/// empty where neither variable is set.
std::filesystem::path calibration_folder(const Environment& environment);

/// The name of a machine's calibration: its host, and what its GPUs are.
std::string calibration_name(const trace::Calibration& calibration);

/// Throws Failure if there is no such file, or if it is no calibration.
trace::Calibration read_calibration(const std::filesystem::path& file);

/// The newest calibration in `folder` of this host that measured a GPU at this PCI address; defective files
/// are passed over. Sessions compare UUIDs before they take its rates.
std::optional<trace::Calibration> find_calibration_at(const std::filesystem::path& folder,
                                                      const std::string& host,
                                                      const std::string& pci_address);

/// The newest calibration in `folder` that measured the GPU with this UUID; defective files are passed over.
std::optional<trace::Calibration> find_calibration(const std::filesystem::path& folder,
                                                   const std::string& uuid);

}  // namespace tferry::cli
