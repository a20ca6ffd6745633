#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <vector>

namespace tferry::analyzer {

/// Follows a plan: dead contents are dropped, what shall leave leaves when its operation has ended, what
/// shall return is ordered when its room is due, earliest need first. Where that is not enough (the first
/// iteration, late transfers), the tensor leaves whose next use is furthest away. Operations acquire their
/// memory one ahead, as they do under a static placement.
class PlanPolicy final : public Policy {
 public:
  /// Both must outlive the policy.
  PlanPolicy(const Workload& workload, const Uses& uses, const Plan& plan);

  std::string_view name() const override { return "plan"; }
  void launching(std::uint32_t, std::uint64_t) override {}
  void finished(std::uint64_t position, Mover& mover) override;
  std::optional<std::uint32_t> victim(const Memory& memory, std::uint64_t position) override;
  void evicted(std::uint32_t, std::int64_t) override {}
  bool patient() const override { return true; }
  std::uint64_t run_ahead(std::uint64_t) const override { return 1; }

 private:
  std::uint64_t distance_to_next_use(std::uint32_t tensor, std::uint64_t operation) const;

  const Uses& uses_;
  const Plan& plan_;
  std::vector<std::vector<std::uint32_t>> leaving_;  ///< actions by operation
  std::vector<std::vector<std::uint32_t>>
      returning_;  ///< actions by operation, of which the end lets them return
};

}  // namespace tferry::analyzer
