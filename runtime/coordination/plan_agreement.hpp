#pragma once

#include "runtime/coordination/slot_table.hpp"
#include "trace/slot_segment.hpp"

#include <cstdint>

namespace tferry::runtime {

/// Lets the ranks of a job change plans at the end of the same iteration: one that moves by a new plan while
/// its neighbours have none yet is measured, and shares the link, as it never will again.
///
/// A member says which change it is ready for, the first, the second and so on. Once all that look are ready,
/// whoever sees it first names the iteration: the one after the latest that any of them has ended. Who waited
/// for `kPatience` iterations (another rank's plan was refused, or it does something else) goes on alone.
/// By the launching thread of a member, under the runtime's lock.
class PlanAgreement {
 public:
  static constexpr int kPatience = 16;

  explicit PlanAgreement(trace::SlotSegment& segment)
      : layout_(segment.layout()), lease_ns_(segment.lease_ns()) {}

  /// At the end of an iteration with a new plan at hand, when this member has ended `round` iterations. True:
  /// the plan changes now, and the next call is about the next change.
  bool may_change(const SlotTable::Identity& self, std::uint64_t round, std::int64_t now_ns);

 private:
  trace::SlotSegmentLayout& layout_;
  std::int64_t lease_ns_;
  std::uint64_t change_ = 1;  ///< that is to come
  int waited_ = 0;
};

}  // namespace tferry::runtime
