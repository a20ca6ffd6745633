#pragma once

#include <cstdint>
#include <optional>

namespace tferry::collector {

/// How far a GPU's clock is from CLOCK_MONOTONIC, without a context in which one could ask it.
///
/// What is known are the host's times around the calls that start and stop sampling, and the GPU's times of
/// the first and the last sample between them. Sampling starts while the start call runs and ends while the
/// stop call runs, so with o = host - GPU, first sample [s, ...) and last sample (..., e], d the longest
/// sample:
///   before_start - d <= s + o <= after_start + d   and   before_stop - d <= e + o <= after_stop + d
/// Each round gives an interval for o; rounds made close together are intersected. The offset is the middle,
/// the error half the width. Where they do not meet, because the assumption failed or the clocks moved, the
/// interval becomes the hull of both, so that the error covers the jump. Clocks drift (some 10 us a second
/// are usual), so rounds are repeated while sampling goes on, `forget` starts a new set, and of a round
/// longer than half a second only the stop counts.
class ClockAlignment {
 public:
  struct Round {
    std::int64_t host_before_start_ns = 0, host_after_start_ns = 0;
    std::int64_t host_before_stop_ns = 0, host_after_stop_ns = 0;
    std::int64_t gpu_first_ns = 0, gpu_last_ns = 0;
    std::int64_t longest_sample_ns = 0;
  };

  /// False if the round contradicts itself; it is not used then.
  bool add(const Round& round);
  /// Old rounds no longer narrow the interval; the offset stays until the next round.
  void forget() { fresh_ = true; }

  bool known() const { return known_; }
  std::int64_t offset_ns() const { return low_ + (high_ - low_) / 2; }
  /// The true offset is at most this far away.
  std::int64_t error_ns() const { return (high_ - low_ + 1) / 2; }

 private:
  bool known_ = false, fresh_ = true;
  std::int64_t low_ = 0, high_ = 0;
};

}  // namespace tferry::collector
