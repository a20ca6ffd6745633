#pragma once

#include "runtime/plan_index.hpp"

#include <array>
#include <cstdint>

namespace tferry::runtime {

/// Finds where in a plan's iteration a program is, by the signatures of its operations, one after the other.
///
/// In the plan, each operation must be the next one. Where one is not, the position is lost, and found again
/// - nearby: a few operations in a row that come next in the plan, or up to 64 operations further on. So
///   some operations more (a loss that is printed) or fewer cost the plan for a few operations;
/// - anywhere: by a window of operations that occurs once in the iteration, and so at the start, too.
/// Operations that resemble the plan's for a while (the forward half of an evaluation step) are taken for
/// them until they differ.
///
/// Not handled: an iteration that repeats a shorter sequence exactly has no telling window, and is not found.
/// Pure logic; one thread at a time.
class PlanPosition {
 public:
  static constexpr std::uint32_t kNone = PlanIndex::kNone;

  struct Match {
    std::uint32_t position = kNone;  ///< of this operation; kNone: not in the plan, as far as can be told
    bool found = false;              ///< the operation before was not at the position before
    bool next_iteration = false;     ///< found, and the iteration's beginning was passed since it was lost
  };

  explicit PlanPosition(const PlanIndex& index) : index_(index) {}

  Match advance(std::uint64_t signature);
  /// The operation at this position was not carried out; its successor may be the same again.
  void retreat(std::uint32_t position);

  bool in_plan() const { return in_plan_; }
  /// Operations since it was in the plan, or since the beginning.
  std::uint64_t astray() const { return astray_; }

 private:
  static constexpr std::uint32_t kNear = 64;     ///< operations further on that are looked at
  static constexpr std::uint32_t kNearRun = 3;   ///< operations in a row that tell a position nearby
  static constexpr std::uint32_t kLeastRun = 4;  ///< that tell one anywhere, if they occur once

  Match search(std::uint64_t signature);
  std::uint32_t run_length(std::uint32_t end, std::uint64_t most) const;
  std::uint64_t remembered(std::uint64_t back) const {
    return history_[(seen_ - 1 - back) % history_.size()];
  }

  const PlanIndex& index_;
  std::array<std::uint64_t, PlanIndex::kLongestWindow> history_{};
  std::uint64_t seen_ = 0;
  std::uint64_t astray_ = 0;
  std::uint32_t next_ = 0;  ///< expected, or expected when it was lost
  bool in_plan_ = false;
  bool ever_ = false;
};

}  // namespace tferry::runtime
