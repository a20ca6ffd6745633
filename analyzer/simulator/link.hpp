#pragma once

#include "analyzer/workload/workload.hpp"

#include <algorithm>
#include <limits>

namespace tferry::analyzer {

/// Where a rank's transfers go, one at a time in each direction.
class TransferPort {
 public:
  enum Direction { kIn, kOut };

  virtual ~TransferPort() = default;
  /// A transfer in this direction was started and has not ended.
  virtual bool busy(Direction direction) const = 0;
  /// The direction is idle and bytes is positive. Urgency: ns until the operation that waits for it, at the
  /// earliest.
  virtual void start(Direction direction, double bytes, double urgency_ns) = 0;
};

/// A copy in bytes that cross a link at its full rates: what it costs beside its own in bytes, too.
inline double bytes_of_link(const LinkRates& rates, double bytes, double latency_ns, double alone) {
  return bytes / rates.reached + (latency_ns + rates.copy_ns) * alone;
}

/// A link of one rank: one transfer at a time in each direction; both slow down to the duplex corner while
/// both are busy. Times are nanoseconds since the last advance.
class Link final : public TransferPort {
 public:
  Link(const LinkRates& rates, double latency_ns) : rates_(rates), latency_ns_(latency_ns) {}

  bool busy(Direction direction) const override { return remaining_[direction] > 0; }
  void start(Direction direction, double bytes) { start(direction, bytes, 0); }
  void start(Direction direction, double bytes, double) override {
    remaining_[direction] =
        bytes_of_link(rates_, bytes, latency_ns_, direction == kIn ? rates_.in : rates_.out);
  }
  /// Until the transfer in this direction ends if nothing else changes; infinite when there is none.
  double time_left(Direction direction) const {
    return busy(direction) ? remaining_[direction] / rate(direction)
                           : std::numeric_limits<double>::infinity();
  }
  /// Not beyond the end of any transfer. What ends is told by `ended`, once.
  void advance(double time_ns, bool ended[2]) {
    const double moved[2] = {rate(kIn) * time_ns, rate(kOut) * time_ns};
    const double left[2] = {time_left(kIn), time_left(kOut)};
    for (const Direction d : {kIn, kOut}) {
      ended[d] = busy(d) && left[d] <= time_ns * (1 + 1e-12) + 1e-9;
      remaining_[d] = ended[d] || !busy(d) ? 0 : std::max(remaining_[d] - moved[d], 1e-9);
    }
  }

 private:
  double rate(Direction direction) const {
    const bool both = busy(kIn) && busy(kOut);
    if (direction == kIn) return both ? rates_.duplex_in : rates_.in;
    return both ? rates_.duplex_out : rates_.out;
  }

  LinkRates rates_;
  double latency_ns_;
  double remaining_[2] = {0, 0};
};

}  // namespace tferry::analyzer
