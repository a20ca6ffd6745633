#include "collector/iteration_tracker.hpp"

#include "analyzer/iterations/period.hpp"

#include <algorithm>
#include <utility>

namespace tferry::collector {
namespace {

constexpr std::size_t kMostLearntFrom = 1'000'000;
constexpr std::size_t kShortestAnchor = 12;
constexpr std::size_t kTrust = 3;         // iterations in a row
constexpr std::size_t kToleratedOf = 20;  // one operation of so many more or less, as find_iterations does
constexpr double kAlmost = 0.999;

std::size_t tolerance(std::size_t period) { return period / kToleratedOf + 1; }

bool near(std::size_t a, std::size_t b) { return std::max(a, b) - std::min(a, b) <= tolerance(b); }

template <typename Iterator>
bool equal_runs(Iterator a, Iterator b, std::size_t length) {
  return std::equal(a, a + static_cast<std::ptrdiff_t>(length), b);
}

}  // namespace

void IterationTracker::add(std::uint32_t signature) {
  recent_.push_back(signature);
  if (recent_.size() >= 2 * kMostLearntFrom) {
    recent_.erase(recent_.begin(), recent_.end() - static_cast<std::ptrdiff_t>(kMostLearntFrom));
    candidate_ = candidate_at_ = asked_at_ = 0;
    forgot_ = true;
  }
  if (!follows()) return;
  ++since_begin_;
  if (since_begin_ >= period_ / 2 + anchor_.size() && ends_with_anchor()) {
    ++iteration_;
    since_begin_ = anchor_.size();
  }
  if (since_begin_ > 2 * period_ + anchor_.size()) lose();
}

void IterationTracker::lose() {
  anchor_.clear();
  candidate_ = candidate_at_ = asked_at_ = 0;
  if (!forgot_) return;  // all is counted anew, by what is known then
  before_ = iteration_ + 1;
  recent_.clear();
}

bool IterationTracker::ends_with_anchor() const {
  return recent_.size() >= anchor_.size() && recent_.back() == anchor_.back() &&
         std::equal(anchor_.rbegin(), anchor_.rend(), recent_.rbegin());
}

void IterationTracker::learn() {
  if (follows() || recent_.size() < asked_at_ + asked_at_ / 10 + 1) return;
  asked_at_ = recent_.size();
  const auto found = analyzer::find_iterations(recent_);
  const std::size_t before = std::exchange(candidate_, found ? found->period : 0);
  const std::size_t before_at = std::exchange(candidate_at_, recent_.size());
  if (!found || found->count() < kTrust) return;
  const std::size_t period = found->period;
  if (before == 0 || !near(before, period)) return;
  if (recent_.size() < before_at + period) {  // no more of it yet than the first time
    candidate_at_ = before_at;
    return;
  }
  const auto& spans = found->spans;
  for (std::size_t i = spans.size() - kTrust + 1; i < spans.size(); ++i) {
    if (spans[i].begin > spans[i - 1].end + tolerance(period)) return;
  }
  if (recent_.size() > spans.back().end + period + tolerance(period)) return;
  period_ = period;
  choose_anchor(spans.back().begin, spans.back().end);
  if (!follows()) return;
  iteration_ = before_ + static_cast<std::int64_t>(spans.size());
  since_begin_ = recent_.size() - spans.back().end;
}

void IterationTracker::choose_anchor(std::size_t last_begin, std::size_t last_end) {
  const std::size_t size = last_end - last_begin;
  const auto begin = recent_.begin() + static_cast<std::ptrdiff_t>(last_begin);
  for (std::size_t length = std::min(kShortestAnchor, size);; length = std::min(2 * length, size)) {
    std::size_t places = 0;
    for (std::size_t i = 0; i < size && last_begin + i + length <= recent_.size(); ++i) {
      places += equal_runs(begin + static_cast<std::ptrdiff_t>(i), begin, length) ? 1 : 0;
    }
    if (places == 1) {
      anchor_.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
      return;
    }
    if (length == size) return;
  }
}

std::optional<double> IterationTracker::position() const {
  if (!follows()) return std::nullopt;
  const double part = static_cast<double>(since_begin_) / static_cast<double>(period_);
  return static_cast<double>(iteration_) + std::min(part, kAlmost);
}

}  // namespace tferry::collector
