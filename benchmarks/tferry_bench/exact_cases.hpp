#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// A small job (analyzer/workload/slot_workload.hpp) and the shortest period that an exact solver proved.
struct ExactCase {
  std::uint32_t seed = 0;
  std::int64_t period = 0;  ///< in slots
};

/// Lines "SEED PERIOD". Throws std::runtime_error when the file cannot be read or holds something else.
std::vector<ExactCase> read_cases(const std::string& path);

/// Cases from a seed on, those that on-demand swapping makes at least 15 % slower; seeds that CBC does not
/// decide in the seconds are left out. Calls `found` for each. Throws std::runtime_error where CBC was not
/// found at build.
void make_cases(std::uint32_t first_seed, std::size_t count, double seconds, void (*found)(const ExactCase&));

/// What lookahead makes of a case: simulated time over the shortest period, and where that is more than 5 %
/// off, over the shortest one without tensors that are copied out ahead of the gap in which they leave, which
/// no plan can say (as far as CBC decides it in the seconds; otherwise over the same).
struct ExactRatio {
  double all = 1;
  double without_copies_ahead = 1;
};
std::vector<ExactRatio> ratios_to_exact(const std::vector<ExactCase>& cases, int rounds, double seconds);

/// As measurements of a raw file: analyzer.vs_exact/average and /worst.
nlohmann::json exact_measurements(const std::vector<ExactRatio>& ratios, const std::string& command);

}  // namespace tferry::benchmarks
