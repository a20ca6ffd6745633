#pragma once

#include "tests/replay/recorded_job.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tferry::replay {

/// The last whole iteration of a job: calls [begin, end).
struct LastIteration {
  std::size_t begin = 0, end = 0;
  /// What it frees of earlier iterations, with what it leaves to the next one in its stead: allocations of
  /// the same size, in order.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> successors;
};

/// Throws std::runtime_error where the job's operations show no iterations.
LastIteration last_iteration(const RecordedJob& job);

}  // namespace tferry::replay
