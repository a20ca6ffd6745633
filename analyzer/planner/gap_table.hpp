#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/workload/uses.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// What a planner of one rank decides about: the gaps in which something can be parked, and how many bytes
/// are too many during each operation. A choice is the bytes parked in each gap. Refers to the workload,
/// which must outlive it. Pure; any thread.
class GapTable {
 public:
  explicit GapTable(const Workload& workload);

  std::size_t operations() const { return count_; }
  std::size_t size() const { return gaps_.size(); }
  const Gap& operator[](std::size_t gap) const { return gaps_[gap]; }
  std::int64_t bytes(std::size_t gap) const { return workload_.tensors[gaps_[gap].tensor].size; }
  /// Gaps around an operation. Looks at all gaps.
  std::vector<std::uint32_t> around(std::size_t operation) const;
  std::int64_t live(std::size_t operation) const { return live_[operation]; }
  std::int64_t excess(std::size_t operation) const { return live_[operation] - workload_.budget; }
  /// Start of an operation of the first two iterations when nothing ever waits, in ns.
  double start(std::size_t operation) const { return started_[operation]; }
  /// The operation with the fewest live bytes, where nearly nothing is parked.
  std::size_t lowest() const { return lowest_; }

  /// Bytes away during each operation.
  std::vector<std::int64_t> away(const std::vector<std::int64_t>& parked) const;
  /// The plan that parks so much, each gap's bytes back as early as the room that the others leave allows,
  /// nearest need first. Valid when `away` covers the excess everywhere.
  Plan plan(const std::vector<std::int64_t>& parked) const;

 private:
  void set_returns(std::vector<PlanAction>& actions) const;

  const Workload& workload_;
  std::size_t count_;
  std::size_t lowest_ = 0;
  std::vector<std::int64_t> live_;
  std::vector<Gap> gaps_;
  std::vector<double> started_;
};

}  // namespace tferry::analyzer
