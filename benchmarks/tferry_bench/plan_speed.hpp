#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// What planning one job took, on one core.
struct PlanSpeed {
  std::string job;
  std::size_t operations = 0, tensors = 0;
  std::vector<double> plan_ns;       ///< of each repetition, from the workload to the plan
  std::vector<double> processor_ns;  ///< of the same, of this thread
  /// To find places for it in chunks of the card's memory; 0: none were found.
  double place_ns = 0;
  double over_bound = 0;  ///< the plan's simulated time
  std::size_t actions = 0;
};

/// Plans two jobs of at least 10,000 operations at 1.5 times with default options, `repeats` times each: one
/// of exactly 10,000 operations and 3,000 tensors at random in chunks of 4 MiB, and a modelled transformer.
std::vector<PlanSpeed> plan_speeds(int repeats);

std::string plan_speed_text(const std::vector<PlanSpeed>& speeds);

/// Claims analyzer.plan_10000_operations/JOB, wall clock.
nlohmann::json plan_speed_measurements(const std::vector<PlanSpeed>& speeds, const std::string& command);

/// The machine's load, as a sentence for notes.
std::string load_text();

}  // namespace tferry::benchmarks
