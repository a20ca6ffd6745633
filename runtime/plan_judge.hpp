#pragma once

#include "runtime/median.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::runtime {

/// Whether a plan brings more than it costs, judged by how long iterations take on the GPU under it and
/// without it. Medians of three are compared, the first iteration after a change left out; a plan stays that
/// is at most 3 % slower.
///
/// Three iterations without the plan, seen before it was adopted, are enough to leave it for good. With fewer
/// (a plan that was there from the start is adopted before the job has warmed up) one that looks slow is left
/// on trial: slower than some iteration without it, or a quarter slower than it predicts. Three iterations
/// later it is adopted again, or left for good. A plan is judged once; one that looks fast is never left for
/// it, and one that predicts nothing is not judged. Pure logic; one thread at a time.
class PlanJudge {
 public:
  enum class Verdict {
    kStay,  ///< in place, on trial or still open: as it is
    kTry,   ///< to be left on trial
    kLeave  ///< it costs more than it brings
  };

  /// Iterations that ended, in this order. Those of a state that has been left may still come.
  void took_without(std::int64_t ns);
  void took_under(std::int64_t ns);
  /// The plan was put in place; it was left, for whatever reason.
  void adopted();
  void left() { in_place_ = false; }

  /// At the end of an iteration. What a verdict asks for is asked for once. `predicted_ns`: 0: unknown.
  Verdict judge(std::int64_t predicted_ns);
  /// Whether it may be put in place (again).
  bool wanted() const { return state_ == State::kOpen || state_ == State::kKept; }

  /// What the last verdict went by; 0: unknown.
  std::int64_t under_ns() const { return median(under_); }
  std::int64_t without_ns() const { return median(trial_.empty() ? without_ : trial_); }

 private:
  static constexpr std::size_t kSamples = 3;
  static constexpr int kSettling = 1;  ///< iterations after a change that do not count
  static constexpr double kTolerated = 1.03;
  static constexpr double kMissed = 1.25;  ///< of the prediction

  enum class State { kOpen, kOnTrial, kKept, kLeft };

  static bool slower(std::int64_t under, std::int64_t without, double factor) {
    return static_cast<double>(under) > factor * static_cast<double>(without);
  }
  bool looks_slow(std::int64_t predicted_ns) const;

  State state_ = State::kOpen;
  std::vector<std::int64_t> without_;  ///< before it was adopted: the last ones
  std::vector<std::int64_t> under_;
  std::vector<std::int64_t> trial_;
  int settling_ = 0;
  bool in_place_ = false;
};

}  // namespace tferry::runtime
