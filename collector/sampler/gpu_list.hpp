#pragma once

#include "trace/records.hpp"

#include <string>
#include <vector>

namespace tferry::collector {

/// The GPUs of this machine as the driver tells, by ordinal, without making a context. Empty with a sentence
/// in `error` where there is no driver, or none that works. The name of GPU i is names[i].
struct GpuList {
  std::vector<trace::DeviceRecord> devices;  ///< without name ids
  std::vector<std::string> names;
  std::string error;

  static GpuList from_driver(const std::string& sysfs_root = "/sys");
};

}  // namespace tferry::collector
