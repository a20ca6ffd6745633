#pragma once

#include "cli/status/operation_file.hpp"

#include <cstdint>
#include <optional>

namespace tferry::cli {

/// What one iteration of a device's operations costs: medians over the measured iterations. Bytes come from
/// entries in KiB; times are those at which calls were made (CLOCK_MONOTONIC), so that they include waiting.
struct IterationFigures {
  std::size_t found = 0;         ///< complete iterations in the log
  std::size_t measured = 0;      ///< of these, all but the first two of the job
  std::size_t operations = 0;    ///< of a typical iteration
  std::size_t accumulation = 1;  ///< gradient accumulation factor, see analyzer/iterations/period.hpp
  double confidence = 0;
  std::optional<std::int64_t> time_ns;        ///< unset: no iteration was followed by another operation
  std::optional<std::int64_t> parked_bytes;   ///< unset: the log does not account for all that was parked
  std::optional<std::int64_t> fetched_bytes;  ///< likewise
  std::int64_t gated_operations = 0;
};

/// What was parked and fetched on the device in all, to check the log against.
struct MovedBytes {
  std::optional<std::int64_t> parked, fetched;
};

/// Finds the iterations of one device and measures them, leaving out the first two (allocation, compilation,
/// first evictions) if the log still holds the beginning. Nothing where no period is found or none is left to
/// measure.
std::optional<IterationFigures> measure_iterations(const OperationLog& log, int device,
                                                   const MovedBytes& in_all = {});

}  // namespace tferry::cli
