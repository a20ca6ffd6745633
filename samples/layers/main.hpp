#pragma once

#include "samples/layers/census.hpp"
#include "samples/layers/machine.hpp"
#include "samples/layers/options.hpp"

namespace tferry::samples {

/// Runs the schedule on `device`, compares every checksum with the model and prints what both layers programs
/// print:
///   iteration 3 sum 0x8c41... time_ms 12.345
///   answer ok 5b0c..., 6 iterations, median 12.301 ms
/// Returns the exit code: 0, or 1 with the first difference on stdout and stderr. Passes on other exceptions.
int run_and_compare(const LayersOptions& options, Machine& device);

/// Prints the footprint and the known answers of a recording (census.hpp), for --plan-only.
void print_plan(const LayersOptions& options, OwnWork own);

}  // namespace tferry::samples
