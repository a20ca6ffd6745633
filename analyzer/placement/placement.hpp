#pragma once

#include "analyzer/placement/plan_workload.hpp"
#include "analyzer/placement/queue_simulation.hpp"
#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/simulator.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::analyzer {

/// Pieces [first, first + count) of a tensor leave after the operation at `position` was submitted, or are
/// fetched before it is.
struct PlacementStep {
  std::uint32_t position = 0;
  std::uint32_t tensor = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const PlacementStep&) const = default;
};

/// A plan with a place for everything: each piece has one chunk for its whole life, also when it leaves and
/// comes back, and in program order no chunk ever has two tenants (ALGORITHMS.md, rule 5).
struct Placement {
  std::uint32_t chunks = 0;                        ///< plan chunks in use
  std::vector<std::vector<std::uint32_t>> places;  ///< by tensor and piece
  std::vector<PlacementStep> leaves;               ///< by position, in the order in which to submit them
  std::vector<PlacementStep> returns;
  QueueSimulation simulated;   ///< with these chunks, each queue in this order
  std::int64_t bytes_out = 0;  ///< per iteration
  std::int64_t bytes_in = 0;   ///< less than out where tensors are freed while they are away
};

/// Places a valid plan in `chunks` chunks, in several ways, and keeps the one that is simulated fastest.
/// Pieces that nobody's memory was waiting for stay where they are. Nothing where no placement was found.
/// Deterministic; any thread.
std::optional<Placement> place_plan(const PlanWorkload& workload, const Plan& plan, std::uint32_t chunks,
                                    const SimulationOptions& options = {});

/// Most chunks in use at one time in program order with what the plan parks away as long as it can be: no
/// placement needs fewer.
std::uint32_t chunks_needed(const PlanWorkload& workload, const Plan& plan);

}  // namespace tferry::analyzer
