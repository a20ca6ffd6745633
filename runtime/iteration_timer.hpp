#pragma once

#include "cuda/driver.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tferry::runtime {

/// How long iterations take on the GPU: an event where each ends, read back when it has passed. The host's
/// clock does not tell it: a program that runs ahead submits several iterations in the time of one. Where the
/// driver has no times, the host's clock has to do. Under the runtime's lock, in one context.
class IterationTimer {
 public:
  explicit IterationTimer(const cuda::Driver& driver) : driver_(driver) {}
  IterationTimer(const IterationTimer&) = delete;
  IterationTimer& operator=(const IterationTimer&) = delete;

  /// An iteration ends on this stream. `counts`: from the end before to here lies one whose time is wanted.
  void iteration_ended(CUstream stream, bool counts);
  /// The next end has none before it.
  void restart() { connected_ = false; }
  /// The time of an iteration that has passed; none: no more have so far.
  std::optional<std::int64_t> next_ns();

 private:
  static constexpr std::size_t kMostOnTheirWay = 64;

  struct End {
    CUevent event = nullptr;
    std::int64_t host_ns = 0;
    bool counts = false;
  };

  const cuda::Driver& driver_;
  std::deque<End> ends_;  ///< the first is the last one that was read
  std::vector<CUevent> spare_;
  bool connected_ = false;
};

}  // namespace tferry::runtime
