#pragma once

#include "analyzer/planner/coordination.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tferry::benchmarks {

/// GPUs of many hosts that synchronise, each host's on links of its own; ranks differ in how fast they
/// compute.
struct ScaleCell {
  std::size_t hosts = 1;
  std::size_t gpus = 8;  ///< on each host
  std::size_t gpus_per_link = 8;
  std::uint64_t iterations_per_round = 1;
  double fair_ns = 0;  ///< of an iteration of the slowest rank, simulated
  double behind_ns = 0;
  double bound_ns = 0;  ///< of the ranks of one link, all as fast as the plan's
};

/// GPT-2 124 M in fp32 at 1.5 times, modelled: 4 and 8 GPUs on one link and on pairs, and 8 GPUs on two links
/// on 1, 4, 16 and 64 hosts. Durations of each rank's operations are up to `spread` longer or shorter than
/// those that the plan was made for, at random, the same in every iteration. Deterministic.
std::vector<ScaleCell> run_scale_cells(int rounds, double spread, void (*progress)(const std::string&));

std::string scale_as_markdown(const std::vector<ScaleCell>& cells);
/// Claims coordination.simulated_gain/GPUS_PER-LINK_EVERY and coordination.simulated_hosts/EVERY.
nlohmann::json scale_as_measurements(const std::vector<ScaleCell>& cells, const std::string& command);

}  // namespace tferry::benchmarks
