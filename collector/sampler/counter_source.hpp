#pragma once

#include "trace/records.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tferry::collector {

// tferry-sampler: a program beside the job that reads hardware counters of all GPUs.
//
//   CounterSource (PmSource by CUPTI, NvmlSource where that is not to be had), one per GPU, with NvlinkSource
//   beside it where PM sampling has no NVLink
//     -> ClockAlignment (GPU times to CLOCK_MONOTONIC) -> CounterWriter -> spool.PID.sampler.N

/// The counters of one GPU over one interval.
struct CounterSample {
  std::int64_t start_ns = 0, end_ns = 0;  ///< on the source's clock
  std::vector<double> values;             ///< in the order of CounterSource::counters
};

/// Moments on the host's clock around a start or a stop of sampling, and what the source said of them.
struct SamplingEdge {
  std::int64_t host_before_ns = 0, host_after_ns = 0;
};

/// Counters of one GPU. Failures are sentences, empty for success. Threads: one.
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  /// Ordinal and UUID at least.
  virtual trace::DeviceRecord device() const = 0;
  /// Names as records carry them, the same on every chip: "pcie__read_bytes.sum" is what the GPU received.
  virtual const std::vector<std::string>& counters() const = 0;
  /// What of the wish could not be had, in words; empty: nothing.
  virtual std::string shortfall() const = 0;
  /// True if sample times are CLOCK_MONOTONIC already.
  virtual bool on_host_clock() const = 0;

  virtual std::string start() = 0;
  virtual std::string stop() = 0;
  /// Appends the samples since the last call, oldest first. `overflow` becomes true if some were lost.
  virtual std::string read(std::vector<CounterSample>& samples, bool& overflow) = 0;
};

/// Why a source is not to be had.
struct SourceRefusal {
  std::string text;
  trace::LossReason reason = trace::LossReason::kNotPermitted;
};

/// One way to have counters of a GPU.
struct CounterWay {
  std::string name;  ///< for messages: "PCIe rates by NVML"
  /// Null, and why, where the source is not to be had.
  std::function<std::unique_ptr<CounterSource>(SourceRefusal&)> open;
};

/// A GPU to sample.
struct SampledGpu {
  trace::DeviceRecord device;
  /// The best first; the first that opens and starts is used, and the next one where it fails later.
  std::vector<CounterWay> ways;
  /// Where the source in use does not have this counter, another one works beside it, if it can.
  std::string counter;
  std::optional<CounterWay> beside;
};

}  // namespace tferry::collector
