#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// A GPU as the driver and NVML tell it. Unset: not told.
struct GpuInfo {
  std::string name;
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> free_bytes;  ///< by NVML, so that no context is made on the card
};

struct DriverInfo {
  std::string error;  ///< empty: the driver works
  std::string error_fix;
  std::string path;            ///< file that was loaded
  int cuda_version = 0;        ///< 13000 is CUDA 13.0
  std::string driver_version;  ///< by NVML, "580.65.06"; empty: not told
  std::vector<GpuInfo> gpus;
};

/// Opens libcuda.so.1 and libnvidia-ml.so.1 at run time and asks them. Loads libraries that may crash or
/// hang: call it within run_probe, and pass the answer on by these two.
DriverInfo probe_driver();
std::string driver_info_to_json(const DriverInfo& info);
/// Throws nlohmann::json::exception if the text is not from driver_info_to_json.
DriverInfo driver_info_from_json(const std::string& text);

}  // namespace tferry::cli
