#pragma once

#include "collector/sampler/nvml.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tferry::collector {

/// The few calls of libnvidia-ml.so.1 that the sampler makes, resolved at run time: the library comes with
/// the driver. Threads: one.
class NvmlLibrary final : public Nvml {
 public:
  /// Null with a sentence in `error` if there is no such library or it does not work.
  static std::unique_ptr<NvmlLibrary> open(std::string& error);
  ~NvmlLibrary() override;

  std::vector<Device> devices() override;
  std::int64_t received_kb_per_s(const Device& device) override;
  std::int64_t sent_kb_per_s(const Device& device) override;
  NvlinkTotals nvlink_totals(const Device& device) override;

 private:
  struct Calls;
  NvmlLibrary() = default;
  std::unique_ptr<Calls> calls_;
};

}  // namespace tferry::collector
