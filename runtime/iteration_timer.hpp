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

  /// What lies between one end and the next.
  enum class Kind {
    kOther,    ///< no iteration, or not a whole one
    kWithout,  ///< an iteration without a plan
    kUnder,    ///< one under a plan, but not exactly what it says
    kFollowed  ///< one that the plan tells
  };
  struct Time {
    std::int64_t ns = 0;
    Kind kind = Kind::kOther;
    std::uint64_t number = 0;  ///< as the caller counts
  };

  /// An iteration ends on this stream. `kind`: what lies between the end before and here.
  void iteration_ended(CUstream stream, Kind kind, std::uint64_t number);
  /// The next end has none before it.
  void restart() { connected_ = false; }
  /// An iteration that has passed, of any kind but kOther; none: no more have so far.
  std::optional<Time> next();

 private:
  static constexpr std::size_t kMostOnTheirWay = 64;

  struct End {
    CUevent event = nullptr;
    std::int64_t host_ns = 0;
    Kind kind = Kind::kOther;
    std::uint64_t number = 0;
  };

  const cuda::Driver& driver_;
  std::deque<End> ends_;  ///< the first is the last one that was read
  std::vector<CUevent> spare_;
  bool connected_ = false;
};

}  // namespace tferry::runtime
