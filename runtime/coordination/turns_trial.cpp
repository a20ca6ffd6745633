#include "runtime/coordination/turns_trial.hpp"

#include "runtime/median.hpp"

#include <algorithm>

namespace tferry::runtime {
void TurnsTrial::begin(std::uint64_t iteration) {
  if (!first_) first_ = iteration;
}

bool TurnsTrial::turns_in(std::uint64_t iteration) const {
  return !first_ || iteration < *first_ + kWithout || iteration >= *first_ + kEnd;
}

void TurnsTrial::took(std::uint64_t iteration, std::int64_t ns) {
  if (!first_ || iteration < *first_ + kSettling || iteration >= *first_ + kEnd) return;
  const std::uint64_t since = iteration - *first_;
  if (since < kWithout) {
    with_.push_back(ns);
  } else if (since >= kWithout + kSettling) {
    without_.push_back(ns);
  }
}

std::optional<TurnsTrial::Times> TurnsTrial::times() const {
  // Now and then an iteration has no time: half of them will do.
  if (with_.size() < kTimed / 2 || without_.size() < kTimed / 2) return std::nullopt;
  return Times{median(with_), median(without_)};
}

bool TurnsTrial::turns_pay(const std::vector<Times>& ranks) {
  std::int64_t with = 0, without = 0;
  for (const Times& times : ranks) {
    with = std::max(with, times.with_ns);
    without = std::max(without, times.without_ns);
  }
  return static_cast<double>(with) <= kTolerated * static_cast<double>(without);
}

}  // namespace tferry::runtime
