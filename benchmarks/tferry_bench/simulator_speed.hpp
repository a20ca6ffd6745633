#pragma once

#include "benchmarks/tferry_bench/planner_cells.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// What the simulator did with one job under one policy.
struct SimulatorSpeed {
  std::string job, policy;
  std::uint64_t events = 0;  ///< of one simulation
  double seconds = 0;        ///< of one processor, from the workload to the result: the fastest of all
  bool same = true;          ///< every repetition had the same result
};

/// Simulates each job at 1.5 times under each policy and under its plan, `repeats` times; times are those of
/// the calling thread.
std::vector<SimulatorSpeed> simulator_speeds(const std::vector<PlannedJob>& jobs, int repeats);

/// Claim analyzer.simulator_events_per_second: all events over all seconds.
nlohmann::json speed_measurements(const std::vector<SimulatorSpeed>& speeds, const std::string& command);

}  // namespace tferry::benchmarks
