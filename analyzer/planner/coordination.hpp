#pragma once

#include "analyzer/planner/plan.hpp"
#include "analyzer/simulator/ranks.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// How the ranks of a job that runs the same workload on every GPU use the links that they share.
enum class Coordination : std::uint8_t {
  kFair,        ///< everybody at once
  kInterleave,  ///< everybody at once, neighbours by plans that move different tensors
  kDeadline,    ///< one at a time in each direction, the nearest need first
  kPriority,    ///< one at a time, by a fixed order of ranks
  kRotating,    ///< one at a time, the order rotated every round
  kBehind,      ///< one at a time, the rank that has ended the fewest iterations first
  kSkewed       ///< kPriority, and each rank begins a part of an iteration after the one before
};
std::string coordination_name(Coordination mode);
/// All of them, simplest first.
std::span<const Coordination> all_coordinations();

/// GPUs on links and how often they wait for each other.
struct RankLayout {
  std::size_t gpus = 2;
  std::size_t gpus_per_link = 2;
  std::uint64_t iterations_per_round = 1;  ///< between two synchronisations of all ranks
};

/// All ranks following the plan (every second one `other`, under kInterleave).
RankSimulation simulate_coordinated(const Workload& workload, const Plan& plan, const Plan& other,
                                    const RankLayout& layout, Coordination mode,
                                    const SimulationOptions& simulation);

/// Its time of an iteration, ns.
double coordinated_time(const Workload& workload, const Plan& plan, const Plan& other,
                        const RankLayout& layout, Coordination mode, const SimulationOptions& simulation);

/// The same under `lms` and its interleaved variant, for comparison.
double coordinated_lms_time(const Workload& workload, const RankLayout& layout, Coordination mode,
                            const SimulationOptions& simulation);

/// The mode to use where nothing is known but the layout: what did best over the cells of
/// docs/results/analyzer.md.
Coordination usual_coordination(const RankLayout& layout);

/// The mode to use for a plan, by simulating those that a run can follow for a few iterations of the ranks of
/// one link (not kSkewed: no run begins its ranks apart, and where ranks wait for each other it is kPriority
/// from the first time on); of
/// such as are within 1 % of the best, the usual one if it is among them, else the simplest. `other` is the
/// plan that kInterleave needs; null: that is not considered.
Coordination choose_coordination(const Workload& workload, const Plan& plan, const Plan* other,
                                 const RankLayout& layout, const SimulationOptions& simulation);

/// Share of the bytes that two plans both move.
double plan_overlap(const Plan& one, const Plan& other);

}  // namespace tferry::analyzer
