#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// The bound of a recorded job beside an independent linear program.
struct BoundCheck {
  double factor = 0;  ///< footprint over budget
  std::int64_t budget_bytes = 0;
  double bound_ns = 0;    ///< as analysis prints it
  double fluid_ns = 0;    ///< of the linear program; 0 where CBC was not found at build
  double planned_ns = 0;  ///< of lookahead's plan, simulated; 0: none was asked for
  std::size_t breakpoints = 0;
  std::size_t columns = 0;
};

/// For each factor, of the first process of the session that has a bound, or of a workload's JSON when the
/// path ends in .json, or of the modelled job of that name (core_jobs). `rounds`: simulations to spend on a
/// plan; 0: none is made. Throws trace::SessionError, WorkloadError, and std::runtime_error where there is no
/// bound.
std::vector<BoundCheck> check_bounds(const std::string& path, const std::vector<double>& factors,
                                     std::size_t breakpoints, int rounds);

/// As measurements of a raw file, claims plan.bound_vs_lp/JOB/FACTOR: how far the linear program is from the
/// bound, and analyzer.lookahead_vs_lp/JOB/FACTOR: the plan over the program. None where there was no linear
/// program.
nlohmann::json bound_measurements(const std::vector<BoundCheck>& checks, const std::string& job,
                                  const std::string& command);

}  // namespace tferry::benchmarks
