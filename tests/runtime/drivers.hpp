#pragma once

#include "cuda/driver.hpp"
#include "tests/software_driver/control.hpp"
#include "trace/job_status.hpp"

#include <string>

namespace tferry::runtime_test {

/// A driver as a program sees it: the entry points that the runtime calls, and some that only programs do.
struct Api : cuda::Driver {
  decltype(&::cuDeviceGet) cuDeviceGet = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) cuDevicePrimaryCtxRetain = nullptr;
  decltype(&::cuLaunchHostFunc) cuLaunchHostFunc = nullptr;
  decltype(&::cuStreamWriteValue32_v2) cuStreamWriteValue32_v2 = nullptr;
  decltype(&::cuStreamQuery) cuStreamQuery = nullptr;
  decltype(&::cuCtxCreate_v4) cuCtxCreate_v4 = nullptr;
  decltype(&::cuModuleGetGlobal_v2) cuModuleGetGlobal_v2 = nullptr;
};

/// The software driver and, in the same process and on the same devices, the preloaded library in front of
/// it: the library is opened instead of preloaded, so one test runs a program both ways and the hooks reach
/// nobody else.
///
/// The runtime reads its environment when it is opened, which `Drivers::get` does at its first call: settings
/// that a test wants must be in the environment before. Its budget is a share of the card, so a test chooses
/// the budget by `set_budget`, which sizes the card, before a device is first used or used again after
/// `reset`.
class Drivers {
 public:
  static Drivers& get();

  const Api& native() const { return native_; }
  const Api& ferried() const { return ferried_; }
  const trace::JobStatus& status() const { return *status_; }
  const trace::DeviceStatus& device() const { return status_->device[0]; }

  /// Bytes of budget of the next device memory that the runtime opens, a multiple of the chunk.
  void set_budget(std::size_t bytes);
  std::size_t chunk() const { return kChunk; }
  /// Where the runtime looks for plans while the job runs.
  std::string live_plan_path() const;
  SwdStatistics statistics() const;

  // The software driver's own controls (tests/software_driver/control.hpp).
  decltype(&::swd_register_kernel) register_kernel = nullptr;
  decltype(&::swd_fail) fail = nullptr;
  decltype(&::swd_clear_faults) clear_faults = nullptr;
  decltype(&::swd_calls) calls = nullptr;
  decltype(&::swd_clear_calls) clear_calls = nullptr;
  decltype(&::swd_set_jitter) set_jitter = nullptr;
  decltype(&::swd_set_poison) set_poison = nullptr;
  decltype(&::swd_clear_peaks) clear_peaks = nullptr;

  static constexpr std::size_t kChunk = 65536;

 private:
  Drivers();
  ~Drivers();

  Api native_;
  Api ferried_;
  const trace::JobStatus* status_ = nullptr;
  std::string directory_;
  decltype(&::swd_set_device_memory) set_device_memory_ = nullptr;
  decltype(&::swd_statistics) statistics_ = nullptr;
};

/// "CUDA_ERROR_OUT_OF_MEMORY" for 2, and so on.
std::string name_of(CUresult result);

}  // namespace tferry::runtime_test
