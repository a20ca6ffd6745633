#include "runtime/plan_judge.hpp"

#include <algorithm>

namespace tferry::runtime {

void PlanJudge::took_without(std::int64_t ns) {
  if (state_ == State::kOpen) {
    if (without_.size() == kSamples) without_.erase(without_.begin());
    without_.push_back(ns);
  } else if (state_ == State::kOnTrial && settling_ > 0) {
    --settling_;
  } else if (state_ == State::kOnTrial) {
    trial_.push_back(ns);
  }
}

void PlanJudge::took_under(std::int64_t ns) {
  if (state_ != State::kOpen || !in_place_) return;
  if (settling_ > 0) {
    --settling_;
  } else {
    under_.push_back(ns);
  }
}

void PlanJudge::adopted() {
  in_place_ = true;
  settling_ = kSettling;
  if (state_ == State::kOpen) under_.clear();
}

bool PlanJudge::looks_slow(std::int64_t predicted_ns) const {
  const std::int64_t under = under_ns();
  if (!without_.empty() && slower(under, *std::min_element(without_.begin(), without_.end()), kTolerated))
    return true;
  return slower(under, predicted_ns, kMissed);
}

PlanJudge::Verdict PlanJudge::judge(std::int64_t predicted_ns) {
  if (predicted_ns <= 0) return Verdict::kStay;
  if (state_ == State::kOpen && in_place_ && under_.size() >= kSamples) {
    if (without_.size() == kSamples) {
      state_ = slower(under_ns(), without_ns(), kTolerated) ? State::kLeft : State::kKept;
    } else {
      state_ = looks_slow(predicted_ns) ? State::kOnTrial : State::kKept;
      settling_ = kSettling;
    }
    if (state_ == State::kOnTrial) return Verdict::kTry;
    return state_ == State::kLeft ? Verdict::kLeave : Verdict::kStay;
  }
  if (state_ == State::kOnTrial && trial_.size() >= kSamples) {
    state_ = slower(under_ns(), without_ns(), kTolerated) ? State::kLeft : State::kKept;
    if (state_ == State::kLeft) return Verdict::kLeave;
  }
  return Verdict::kStay;
}

}  // namespace tferry::runtime
