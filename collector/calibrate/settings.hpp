#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace tferry::calibrate {

// Measures a machine's links: `tferry-calibrate`, which `tferry calibrate` runs.
//
//   Settings --> Calibrator: Gpu (context, buffers) --> run_lanes: copies on several GPUs at once, timed by
//   events
//            --> trace::Calibration (trace/calibration.hpp)
//
// Copies are timed by CUDA events, calls by the host clock. Nothing is left behind on the GPUs.

struct Settings {
  std::int64_t buffer_bytes = std::int64_t{256}
                              << 20;  ///< of host and of device memory, each GPU and direction
  std::int64_t piece_bytes = std::int64_t{16} << 20;   ///< of copies that are to reach the link's rate
  std::int64_t run_bytes = std::int64_t{2} << 30;      ///< that one repeat copies each way
  std::int64_t handle_bytes = std::int64_t{32} << 20;  ///< of a mapping call
  std::int64_t small_bytes = std::int64_t{1} << 20;    ///< pieces below it are timed several at once
  int repeats = 5;
  std::chrono::milliseconds time_limit = std::chrono::minutes(5);
  std::vector<int> gpus;  ///< ordinals; empty: all
  /// Nanoseconds of the clock that calls are timed by; a test gives a clock of its own.
  std::function<std::int64_t()> now_ns;

  static std::int64_t steady_now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace tferry::calibrate
