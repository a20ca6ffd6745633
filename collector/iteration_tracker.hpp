#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::collector {

/// Tells while a job runs in which of its iterations it is, from the signatures of its operations.
///
/// Learning: analyzer::find_iterations is asked about all that came so far. What it finds is believed once it
/// has found the same period twice, with more of it the second time, and the last three iterations follow
/// each other up to the newest operation: a model's layers, which repeat themselves too, have mostly ended by
/// then. Following: an iteration begins where the run of signatures comes back with which the last one began;
/// the run is as long as it takes to be there once an iteration. When two periods pass without it, the job
/// does something else; the tracker learns anew, from all that came, so that what was wrongly taken for
/// iterations no longer counts.
///
/// Memory: the signatures of the last million operations, or two. Threads: one at a time.
class IterationTracker {
 public:
  void add(std::uint32_t signature);
  /// Looks for the period in what came. Takes about 0.1 s for a million operations, so not after each one.
  void learn();

  /// The period is known.
  bool follows() const { return !anchor_.empty(); }
  /// The iteration that the newest operation is in, from 0, and how far in it, such as 12.5. The whole number
  /// is counted, the part estimated. Nothing while no iteration is known.
  std::optional<double> position() const;
  /// Operations of an iteration.
  std::size_t period() const { return period_; }

 private:
  bool ends_with_anchor() const;
  void lose();
  void choose_anchor(std::size_t last_begin, std::size_t last_end);

  std::vector<std::uint32_t> recent_;
  bool forgot_ = false;                ///< recent_ is not all
  std::vector<std::uint32_t> anchor_;  ///< empty: learning
  std::size_t period_ = 0;
  std::int64_t iteration_ = 0;    ///< the one that runs
  std::int64_t before_ = 0;       ///< iterations before those in recent_
  std::size_t since_begin_ = 0;   ///< operations of it that came
  std::size_t candidate_ = 0;     ///< period that was found once
  std::size_t candidate_at_ = 0;  ///< size of recent_ then
  std::size_t asked_at_ = 0;      ///< the same when it was asked last
};

}  // namespace tferry::collector
