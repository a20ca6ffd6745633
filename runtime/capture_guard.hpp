#pragma once

#include "cuda/driver.hpp"

#include <atomic>

namespace tferry::runtime {

/// Number of program streams that are capturing. While it is zero nothing of ours can break a capture.
inline std::atomic<int> g_capturing{0};

/// For its life the calling thread may make calls that would break a capture running in global mode on
/// another stream (event queries included: pytorch#104487); the thread's own mode comes back at the end.
/// Costs nothing while nobody captures.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const cuda::Driver& driver) {
    if (g_capturing.load(std::memory_order_acquire) == 0 ||
        driver.cuThreadExchangeStreamCaptureMode == nullptr)
      return;
    if (driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) driver_ = &driver;
  }
  ~RelaxedCapture() {
    if (driver_ != nullptr) driver_->cuThreadExchangeStreamCaptureMode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const cuda::Driver* driver_ = nullptr;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace tferry::runtime
