// The preloaded library's beginning and end.
#include "cuda/driver.hpp"
#include "cuda/interpose.hpp"
#include "runtime/runtime.hpp"

namespace {

using tferry::runtime::Runtime;

__attribute__((constructor)) void begin() { Runtime::load(); }

/// Only counts, and ends the recording: the driver may be half gone by now.
__attribute__((destructor)) void end() {
  Runtime::end_recording();
  Runtime::end_coordination();
  auto& job = Runtime::status().job();
  job.driver_loaded = tferry::cuda::driver_is_loaded() ? 1 : 0;
  job.ended_ns = tferry::runtime::StatusPage::now_ns();
}

}  // namespace
