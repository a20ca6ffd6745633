#pragma once

#include "collector/sampler/nvml.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tferry::collector {

/// An NVML for tests: knows the GPUs it is told of, and counts a fixed number of NVLink bytes for each read.
class FakeNvml final : public Nvml {
 public:
  std::vector<Device> gpus = {{nullptr, "GPU-02000000-0000-0000-0000-000000000000"}};
  std::int64_t received = 3000, sent = 40;  ///< KB/s; negative: NVML fails
  NvlinkTotals nvlink;
  std::int64_t nvlink_step = 0;

  std::vector<Device> devices() override { return gpus; }
  std::int64_t received_kb_per_s(const Device&) override { return received; }
  std::int64_t sent_kb_per_s(const Device&) override { return sent; }
  NvlinkTotals nvlink_totals(const Device&) override {
    NvlinkTotals now = nvlink;
    nvlink.received_bytes += nvlink_step;
    nvlink.sent_bytes += 2 * nvlink_step;
    return now;
  }
};

}  // namespace tferry::collector
