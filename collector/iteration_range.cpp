#include "collector/iteration_range.hpp"

#include "trace/spool_writer.hpp"

#include <cmath>

namespace tferry::collector {
namespace {

constexpr double kAhead = 0.5;  // of an iteration
constexpr double kLate = 0.1;   // kinds take a moment to be enabled
// The analysis may begin iterations a little later, and the GPU is behind the launches: on an H200 with 0.02
// the last 28 of GPT-2's 1,053 kernels were missing.
constexpr double kBehind = 0.25;
constexpr std::int64_t kLearningNs = 20'000'000, kFollowingNs = 1'000'000;
constexpr std::int64_t kLearnEveryNs = 200'000'000;

}  // namespace

IterationRange::State IterationRange::update() {
  if (state_ == State::kAfter) return state_;
  feed_.read([this](std::uint32_t signature) { tracker_.add(signature); });
  const std::int64_t now = trace::SpoolWriter::now_ns();
  if (!tracker_.follows() && now >= learn_at_ns_) {
    tracker_.learn();
    learn_at_ns_ = now + kLearnEveryNs;
  }
  const auto position = tracker_.position();
  if (!position) return state_;
  found_ = true;
  if (state_ == State::kBefore && *position > static_cast<double>(first_ + shift_) - kLate) {
    shift_ = static_cast<std::int64_t>(std::floor(*position + kLate)) + 1 - first_;
  }
  if (state_ == State::kBefore && *position >= static_cast<double>(first_ + shift_) - kAhead)
    state_ = State::kInside;
  if (state_ == State::kInside && *position >= static_cast<double>(last_ + shift_ + 1) + kBehind)
    state_ = State::kAfter;
  return state_;
}

std::int64_t IterationRange::interval_ns() const { return tracker_.follows() ? kFollowingNs : kLearningNs; }

std::string IterationRange::shifted() const {
  if (shift_ == 0) return "";
  return "Iterations " + std::to_string(first_ + shift_) + " to " + std::to_string(last_ + shift_) +
         " were recorded: what an iteration is was known too late for " + std::to_string(first_) + " to " +
         std::to_string(last_);
}

}  // namespace tferry::collector
