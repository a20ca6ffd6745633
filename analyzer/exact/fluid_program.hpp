#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstddef>

namespace tferry::analyzer {

struct FluidBound {
  double time_ns = 0;
  std::size_t breakpoints = 0;  ///< at which memory is accounted
  std::size_t columns = 0;      ///< of the linear program
};

/// The fluid linear program of an iteration, an independent check of lower_bound: bytes flow freely within
/// the link's hull between breakpoints, and at the start of each breakpoint's operation what is absent from
/// the card has a copy in host memory and covers what is live beyond the budget; the sum of times is least.
/// With all operations as breakpoints no plan that moves whole bytes can be faster; with fewer it is a
/// relaxation of that, so still a bound. Gaps that differ in nothing but their tensor flow together, which
/// changes no result.
///
/// Only where COIN-OR's CBC was found at build. Requires a valid workload. Time grows fast with the
/// breakpoints: a second for 60, minutes for 300, on a recorded job. Throws std::runtime_error when the
/// solver gives up. Any thread.
FluidBound fluid_bound(const Workload& workload, std::size_t breakpoints);

}  // namespace tferry::analyzer
