#pragma once

#include "analyzer/planner/gap_table.hpp"
#include "analyzer/simulator/simulator.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace tferry::analyzer {

/// Improves a choice of parked bytes by small random changes where operations stall: more of a gap, less of
/// it, or an exchange between two gaps that overlap; whole chunks, and always such that everything fits. A
/// change that costs little is kept for a while (simulated annealing, Kirkpatrick et al. 1983), the best
/// choice returned. Deterministic for a generator in the same state.
class LocalSearch {
 public:
  /// Simulates a choice, or answers from memory.
  using Judge = std::function<Simulation(const std::vector<std::int64_t>& parked)>;

  LocalSearch(const GapTable& gaps, std::int64_t chunk_bytes, Judge judge, std::mt19937& random);

  struct Found {
    std::vector<std::int64_t> parked;
    double time_ns = 0;
  };
  Found improve(std::vector<std::int64_t> parked, int rounds);

 private:
  /// False where the change would change nothing or leave too little away.
  bool change(std::vector<std::int64_t>& parked);
  std::size_t place();
  bool covers(const std::vector<std::int64_t>& parked) const;
  bool refill(std::vector<std::int64_t>& parked, std::uint32_t not_this);

  const GapTable& gaps_;
  std::int64_t chunk_;
  Judge judge_;
  std::mt19937& random_;
  std::vector<double> stalls_;
};

}  // namespace tferry::analyzer
