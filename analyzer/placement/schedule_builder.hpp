#pragma once

#include "analyzer/placement/coloring.hpp"
#include "analyzer/placement/placement.hpp"
#include "analyzer/placement/presence.hpp"
#include "analyzer/placement/queue_simulation.hpp"
#include "analyzer/simulator/simulator.hpp"

#include <vector>

namespace tferry::analyzer {

/// A schedule with the pieces that each of its transfers moves.
struct BuiltSchedule {
  Schedule schedule;                           ///< without submissions
  std::vector<PlacementStep> leaves, returns;  ///< of each transfer; positions of returns are not set
};

/// Turns tenancies into transfers. What leaves a chunk that nobody else takes meanwhile stays there. Pieces
/// go together that leave, or can return, at the same time and lie side by side, up to the largest transfer.
/// What leaves after the same operation goes out in the order in which its chunks are wanted.
BuiltSchedule build_schedule(const PlanWorkload& workload, const std::vector<Part>& parts,
                             const Coloring& coloring, const SimulationOptions& options);

}  // namespace tferry::analyzer
