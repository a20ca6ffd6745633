#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tferry::collector {

/// The few calls of libnvidia-ml.so.1 that the sampler makes, resolved at run time: the library comes with
/// the driver. Threads: one.
class NvmlLibrary {
 public:
  struct Device {
    void* handle = nullptr;
    std::string uuid;  ///< "GPU-..."
  };

  /// Null with a sentence in `error` if there is no such library or it does not work.
  static std::unique_ptr<NvmlLibrary> open(std::string& error);
  ~NvmlLibrary();

  std::vector<Device> devices();
  /// KB/s over the last 20 ms, which the call takes about as long as; negative on failure.
  std::int64_t received_kb_per_s(const Device& device);
  std::int64_t sent_kb_per_s(const Device& device);

 private:
  struct Calls;
  NvmlLibrary() = default;
  std::unique_ptr<Calls> calls_;
};

}  // namespace tferry::collector
