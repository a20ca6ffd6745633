#pragma once

#include "analyzer/simulator/shared_link.hpp"
#include "analyzer/simulator/simulator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// One rank of a job: what it does, under which policy, and which shared link leads to its GPU.
struct SimulatedRank {
  const Workload* workload = nullptr;
  Policy* policy = nullptr;  ///< of its own
  std::size_t link = 0;      ///< index into the shared links
};

struct RankOptions {
  SimulationOptions simulation;  ///< iterations and measured are set from the rounds
  std::vector<LinkRates> links;  ///< that ranks share
  Sharing sharing = Sharing::kFair;
  std::uint64_t iterations_per_round = 1;  ///< between two synchronisations of all ranks
  int rounds = 4;                          ///< from a cold start; the last half is measured
  double skew = 0;  ///< of an iteration in memory, by which each rank begins after the one before
};

struct RankSimulation {
  double time_ns = 0;  ///< of an iteration of the slowest rank, mean over the measured rounds
  std::vector<Simulation> by_rank;
  double link_busy = 0;  ///< share of all the time in which something crossed the link that is used most
  std::uint64_t events = 0;
};

/// Several ranks at once, each as simulate() has it, on links that they share; all wait for each other at the
/// beginning of every round. Deterministic; linear in operations and transfers, times the ranks of a link.
/// Throws std::invalid_argument for a link that is not there.
RankSimulation simulate_ranks(std::span<const SimulatedRank> ranks, const RankOptions& options);

}  // namespace tferry::analyzer
