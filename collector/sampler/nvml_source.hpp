#pragma once

#include "collector/sampler/counter_source.hpp"
#include "collector/sampler/nvml.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tferry::collector {

/// PCIe rates of one GPU by NVML, where PM sampling is not to be had: one reading each way per read, over
/// about 20 ms each, on the host's clock.
class NvmlSource final : public CounterSource {
 public:
  NvmlSource(Nvml& nvml, Nvml::Device nvml_device, trace::DeviceRecord device)
      : nvml_(nvml), nvml_device_(std::move(nvml_device)), device_(device) {}

  trace::DeviceRecord device() const override { return device_; }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return ""; }
  bool on_host_clock() const override { return true; }
  std::string start() override;
  std::string stop() override { return ""; }
  std::string read(std::vector<CounterSample>& samples, bool& overflow) override;

 private:
  Nvml& nvml_;
  Nvml::Device nvml_device_;
  trace::DeviceRecord device_;
  std::vector<std::string> counters_ = {"nvml.pcie_rx_kb_per_s", "nvml.pcie_tx_kb_per_s"};
};

/// Bytes of user data over all NVLinks of one GPU by NVML, beside PM sampling where that does not have them:
/// what was counted from one read to the next, on the host's clock.
class NvlinkSource final : public CounterSource {
 public:
  NvlinkSource(Nvml& nvml, Nvml::Device nvml_device, trace::DeviceRecord device)
      : nvml_(nvml), nvml_device_(std::move(nvml_device)), device_(device) {}

  trace::DeviceRecord device() const override { return device_; }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return ""; }
  bool on_host_clock() const override { return true; }
  /// Fails where there are no NVLinks, or none that NVML counts.
  std::string start() override;
  std::string stop() override { return ""; }
  std::string read(std::vector<CounterSample>& samples, bool& overflow) override;

 private:
  Nvml& nvml_;
  Nvml::Device nvml_device_;
  trace::DeviceRecord device_;
  std::int64_t before_ns_ = 0;
  Nvml::NvlinkTotals before_;
  std::vector<std::string> counters_ = {"nvml.nvlink_rx_bytes.sum", "nvml.nvlink_tx_bytes.sum"};
};

/// Which of NVML's GPUs has this UUID; none: no such one.
std::optional<Nvml::Device> find_device(Nvml& nvml, const trace::DeviceRecord& device);

/// The 16 bytes of "GPU-xxxxxxxx-xxxx-..."; false if the text is none.
bool parse_uuid(const std::string& text, std::uint8_t (&uuid)[16]);

}  // namespace tferry::collector
