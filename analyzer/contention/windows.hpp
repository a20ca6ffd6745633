#pragma once

#include "analyzer/contention/lost_time.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// What one side lost to another within a window.
struct WindowLoss {
  std::int64_t victim_process = 0, victim_device = 0;
  std::optional<std::int64_t> culprit_process, culprit_device;
  Cause cause = Cause::kUnexplained;
  std::optional<std::int64_t> link;
  double lost_ns = 0;
  SoloSource known_by = SoloSource::kUnknown;  ///< the weakest of the solo times behind it
};

/// A stretch of time without a longer pause in which transfers lost time.
struct ContentionWindow {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  double lost_ns = 0;  ///< by all sides together
  std::vector<WindowLoss> losses;
};

/// Puts losses that follow each other within `pause_ns` into one window, summed by who, to whom and why; in
/// order of time. The sum over all windows is that over all losses.
std::vector<ContentionWindow> contention_windows(std::span<const HostTransfer> transfers,
                                                 std::span<const SoloTime> solo, std::span<const Loss> losses,
                                                 std::int64_t pause_ns = 100'000);

/// Time that a transfer waited, ready, while another of the same GPU and direction had the copy engine.
struct QueueWait {
  std::size_t transfer = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  double waited_ns = 0;
};
std::vector<QueueWait> queue_waits(std::span<const HostTransfer> transfers);

}  // namespace tferry::analyzer
