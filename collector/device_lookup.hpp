#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::collector {

/// What the driver and the system know about a card and CUPTI does not.
class DeviceLookup {
 public:
  virtual ~DeviceLookup() = default;
  /// 13000 is 13.0; 0: unknown.
  virtual int driver_version() noexcept = 0;
  /// Fills PCI address, PCIe generation and width, and NUMA node of the card with this record's UUID, as far
  /// as they are known. False if the driver shows the process no such card.
  virtual bool complete(trace::DeviceRecord& record) noexcept = 0;
};

/// Asks the driver that the process has loaded already (it is never loaded for this) and sysfs.
class DriverDeviceLookup final : public DeviceLookup {
 public:
  explicit DriverDeviceLookup(std::string sysfs_root = "/sys") : sysfs_root_(std::move(sysfs_root)) {}
  int driver_version() noexcept override;
  bool complete(trace::DeviceRecord& record) noexcept override;

 private:
  std::string sysfs_root_;
};

/// Reads generation, width and NUMA node of the PCI device that the record names below `sysfs_root`; what is
/// not there stays unknown.
void read_sysfs(const std::string& sysfs_root, trace::DeviceRecord& record);

}  // namespace tferry::collector
