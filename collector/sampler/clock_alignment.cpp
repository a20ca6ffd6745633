#include "collector/sampler/clock_alignment.hpp"

#include <algorithm>

namespace tferry::collector {
namespace {

constexpr std::int64_t kShortRoundNs = 500'000'000;

}  // namespace

bool ClockAlignment::add(const Round& round) {
  const std::int64_t slack = round.longest_sample_ns;
  std::int64_t low = round.host_before_stop_ns - slack - round.gpu_last_ns;
  std::int64_t high = round.host_after_stop_ns + slack - round.gpu_last_ns;
  if (round.host_after_stop_ns - round.host_before_start_ns <= kShortRoundNs) {
    low = std::max(low, round.host_before_start_ns - slack - round.gpu_first_ns);
    high = std::min(high, round.host_after_start_ns + slack - round.gpu_first_ns);
  }
  if (low > high) return false;
  const bool meet = known_ && low <= high_ && low_ <= high;
  if (!known_ || fresh_) {
    low_ = low;
    high_ = high;
  } else if (meet) {
    low_ = std::max(low_, low);
    high_ = std::min(high_, high);
  } else {
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
  }
  known_ = true;
  fresh_ = false;
  return true;
}

}  // namespace tferry::collector
