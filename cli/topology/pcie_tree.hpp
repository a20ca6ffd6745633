#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// What one end of a PCIe link tells about it. 0: not told.
struct PcieSpeed {
  int generation = 0;  ///< 5 is 32 GT/s
  int width = 0;       ///< lanes
};

/// One PCIe link, by its lower end: a GPU, or the upstream port of a switch.
struct PcieLink {
  std::string address = {};   ///< of the lower end, 0000:19:00.0
  std::string upstream = {};  ///< of the port above it: a root port, or a switch's downstream port
  std::string parent = {};    ///< the link above the switch, by its address; empty: the root complex is above
  bool gpu = false;           ///< the lower end is a GPU, not a switch
  int numa_node = -1;
  PcieSpeed now = {};   ///< as it was negotiated; an idle GPU may have slowed its link down
  PcieSpeed most = {};  ///< what both ends can do
};

/// The links between the NVIDIA GPUs of this machine and its root complexes, each link once, those nearer to
/// the host first.
///
/// From sysfs (Documentation/ABI/testing/sysfs-bus-pci): a device's folder lies within the folder of the
/// bridge above it. Bridges come in pairs in a switch, whose upstream and downstream ports are joined by no
/// link; the first bridge of all is the root port. Nothing there is trusted; what is missing stays 0 or -1.
std::vector<PcieLink> read_pcie_tree(const std::filesystem::path& sysfs_root = "/sys");

/// Generation of "32.0 GT/s PCIe"; 0 if it is no speed.
int pcie_generation(const std::string& speed);

/// Bytes per second that the link carries each way before protocol overhead; unset where the speed is not
/// told.
std::optional<double> pcie_bytes_per_second(PcieSpeed speed);

}  // namespace tferry::cli
