#pragma once

#include "analyzer/placement/plan_workload.hpp"
#include "analyzer/placement/program_ticks.hpp"
#include "analyzer/planner/plan.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// A time in which pieces are on the card, in ticks: from `begin` up to `end`, at most an iteration. They
/// come by an allocation or a return, and go by a free or a leave; what stays for ever does neither. A leave
/// that ends the last presence of a tensor that is not persistent is for good: it is freed while away.
struct Presence {
  std::uint32_t begin = 0, end = 0;
  bool returns = false, leaves = false;
  /// Operations, counted on: `needed` is the first that can use them after the return, `left_after` the last
  /// that did before they leave.
  std::uint32_t needed = 0, left_after = 0;
  /// Operation before which, in program order, their chunks are free again.
  std::uint32_t free_from = 0;
  /// Expected, in nanoseconds: how long before `begin` the copy in has to start, and how long after `end` the
  /// copy out will be done.
  double lead_ns = 0, delay_ns = 0;
};

/// Neighbouring pieces of a tensor that a plan treats alike.
struct Part {
  std::uint32_t tensor = 0;
  std::uint32_t first = 0, count = 0;  ///< pieces
  std::vector<Presence> presences;     ///< in order of the tensor's life; never overlapping
  /// From when to when they are on the card at least, in sum, in ticks.
  std::uint32_t length() const {
    std::uint32_t sum = 0;
    for (const Presence& presence : presences) sum += presence.end - presence.begin;
    return sum;
  }
};

/// All tensors of a plan's workload in parts; those that move have at most `largest` bytes. Between leave and
/// need a piece is away as long as it can be.
std::vector<Part> split_into_parts(const PlanWorkload& workload, const ProgramTicks& ticks, const Plan& plan,
                                   std::int64_t largest);

}  // namespace tferry::analyzer
