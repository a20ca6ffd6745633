#pragma once

#include "collector/sampler/counter_source.hpp"
#include "collector/sampler/nvml_library.hpp"

#include <string>
#include <vector>

namespace tferry::collector {

/// PCIe rates of one GPU by NVML, where PM sampling is not to be had: one reading each way per read, over
/// about 20 ms each, on the host's clock.
class NvmlSource final : public CounterSource {
 public:
  NvmlSource(NvmlLibrary& nvml, NvmlLibrary::Device nvml_device, trace::DeviceRecord device)
      : nvml_(nvml), nvml_device_(std::move(nvml_device)), device_(device) {}

  trace::DeviceRecord device() const override { return device_; }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return ""; }
  bool on_host_clock() const override { return true; }
  std::string start() override { return ""; }
  std::string stop() override { return ""; }
  std::string read(std::vector<CounterSample>& samples, bool& overflow) override;

 private:
  NvmlLibrary& nvml_;
  NvmlLibrary::Device nvml_device_;
  trace::DeviceRecord device_;
  std::vector<std::string> counters_ = {"nvml.pcie_rx_kb_per_s", "nvml.pcie_tx_kb_per_s"};
};

/// The 16 bytes of "GPU-xxxxxxxx-xxxx-..."; false if the text is none.
bool parse_uuid(const std::string& text, std::uint8_t (&uuid)[16]);

}  // namespace tferry::collector
