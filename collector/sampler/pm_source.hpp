#pragma once

#include "collector/sampler/counter_source.hpp"
#include "collector/sampler/metric_choice.hpp"
#include "collector/sampler/pm_host.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::collector {

/// Counters of one GPU by CUPTI's PM sampling: no context, no GPU memory, beside whatever job runs. One pass;
/// the interval is a time on the GPU (not on Turing and GA100, which lack that trigger). The first sample
/// after a start has a wrong start time and is left out.
class PmSource final : public CounterSource {
 public:
  /// Throws PmError; cuInit must have been called.
  PmSource(trace::DeviceRecord device, std::int64_t interval_ns, std::span<const std::string> counters);
  ~PmSource() override;
  PmSource(const PmSource&) = delete;
  PmSource& operator=(const PmSource&) = delete;

  trace::DeviceRecord device() const override { return device_; }
  const std::vector<std::string>& counters() const override { return counters_; }
  std::string shortfall() const override { return shortfall_; }
  bool on_host_clock() const override { return false; }
  std::string start() override;
  std::string stop() override;
  std::string read(std::vector<CounterSample>& samples, bool& overflow) override;

 private:
  /// In brackets, for a counter that is not among those that were chosen.
  std::string why_not(const std::string& counter);
  void configure(std::int64_t interval_ns, std::span<const std::string> names);
  void reset_image();
  bool decode(std::vector<CounterSample>& samples, bool& overflow);

  trace::DeviceRecord device_;
  std::size_t index_;
  PmHost host_;
  CUpti_PmSampling_Object* object_ = nullptr;
  std::vector<Metric> metrics_;
  std::vector<std::string> counters_;
  std::vector<const char*> names_;
  std::string shortfall_;
  /// As SetConfig got it. CUPTI 13.0 keeps the pointer, undocumented, and reads it when it decodes.
  std::vector<std::uint8_t> configuration_;
  std::vector<std::uint8_t> image_;
  bool first_ = true;
};

}  // namespace tferry::collector
