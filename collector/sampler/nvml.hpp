#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::collector {

/// What the sampler asks of NVML, the management library that comes with the driver; tests put another one in
/// place. Threads: one.
class Nvml {
 public:
  struct Device {
    void* handle = nullptr;
    std::string uuid;  ///< "GPU-..."
  };
  /// Bytes of user data since the driver was loaded, over all links of a GPU.
  struct NvlinkTotals {
    std::int64_t received_bytes = 0, sent_bytes = 0;
    std::string error;  ///< a sentence; empty: the figures are right
  };

  virtual ~Nvml() = default;

  virtual std::vector<Device> devices() = 0;
  /// KB/s over the last 20 ms, which the call takes about as long as; negative on failure.
  virtual std::int64_t received_kb_per_s(const Device& device) = 0;
  virtual std::int64_t sent_kb_per_s(const Device& device) = 0;
  virtual NvlinkTotals nvlink_totals(const Device& device) = 0;
};

}  // namespace tferry::collector
