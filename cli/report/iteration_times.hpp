#pragma once

#include "cli/report/scope.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::cli {

/// The iterations that the analysis found in one process on one GPU.
struct IterationTimes {
  std::int64_t process_id = 0, pid = 0;
  std::optional<std::int64_t> device_id;
  std::int64_t iterations = 0;
  std::int64_t regular = 0;     ///< with the typical sequence of operations
  std::int64_t operations = 0;  ///< of a regular one
  /// Median time from the start of a regular iteration to that of the next; unset: not two in a row, or no
  /// times of the GPU.
  std::optional<std::int64_t> median_ns;
  std::int64_t micro_batches = 1;           ///< of an iteration
  std::int64_t synchronisations = 0;        ///< the most in an iteration
  std::vector<std::int64_t> synchronising;  ///< numbers of the iterations in which ranks wait for each other
};

/// By process, then GPU; none where the session is not analyzed or has no iterations.
std::vector<IterationTimes> iteration_times(const Scope& scope);

}  // namespace tferry::cli
