#pragma once

#include "analyzer/simulator/policy.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

struct SimulationOptions {
  std::int64_t chunk_bytes = std::int64_t{16} << 20;  ///< largest transfer; one in flight per direction
  double chunk_latency_ns = 4000;                     ///< what a transfer costs beside its bytes
  std::uint64_t run_ahead = 16;                       ///< launched operations beyond the one that runs
  int iterations = 8;                                 ///< from a cold start
  int measured = 2;                                   ///< of these, the last ones
};

struct Simulation {
  double time_ns = 0;  ///< of an iteration, from the start of its first operation to that of the next one's
  std::vector<double> iteration_ns;  ///< of each simulated iteration
  std::int64_t bytes_in = 0;         ///< per measured iteration
  std::int64_t bytes_out = 0;
  double stall_ns = 0;             ///< per measured iteration, time in which the GPU waited for data or room
  std::int64_t peak_bytes = 0;     ///< most card memory held; never above the budget
  std::uint64_t late_fetches = 0;  ///< per measured iteration, operations that found data missing at launch
  std::uint64_t events = 0;        ///< handled in all
  std::vector<double> starts_ns;   ///< of every operation of every iteration, in order
  std::vector<double> stalls_ns;   ///< of every operation of the last iteration, before it started
};

/// Runs a valid workload under a policy by discrete events: a stream of operations, a launching thread that
/// acquires the whole working set of an operation (room first come, fetches in order) before it goes on to
/// the next, and a link with one transfer in flight per direction. An operation starts when it is launched,
/// its predecessor has ended, all its tensors are there, and nothing that it writes is being copied. Memory
/// is held from the launch on and given back at the end of an operation or of a transfer, so the budget holds
/// at every moment.
///
/// Deterministic. Linear in operations and transfers. Pure but for the policy; any thread with a policy of
/// its own.
Simulation simulate(const Workload& workload, Policy& policy, const SimulationOptions& options = {});

}  // namespace tferry::analyzer
