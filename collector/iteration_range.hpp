#pragma once

#include "collector/iteration_tracker.hpp"
#include "collector/operation_feed.hpp"

#include <cstdint>
#include <string>

namespace tferry::collector {

/// When the iterations FIRST to LAST of a job run, by the operations that the preloaded runtime logs.
///
/// Asked at intervals. So that no operation of the range is missed in between, it opens when the iteration
/// before FIRST is nearly over, and closes when LAST has ended. Where FIRST has begun already when the period
/// is known, as many iterations are taken from the next one on, and `shifted` says so.
///
/// Threads: one at a time.
class IterationRange {
 public:
  IterationRange(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}

  /// False if the runtime does not log the operations of this process.
  bool open(const std::string& run_directory) { return feed_.open(run_directory); }

  enum class State { kBefore, kInside, kAfter };
  /// Reads what was logged since the last call. After kAfter there is nothing more to ask.
  State update();
  /// How long until it should be asked again.
  std::int64_t interval_ns() const;

  /// The period was found, at some time.
  bool found() const { return found_; }
  /// What is recorded in place of what was asked for; empty: just that.
  std::string shifted() const;

 private:
  OperationFeed feed_;
  IterationTracker tracker_;
  std::int64_t first_, last_;
  std::int64_t shift_ = 0;
  State state_ = State::kBefore;
  bool found_ = false;
  std::int64_t learn_at_ns_ = 0;
};

}  // namespace tferry::collector
