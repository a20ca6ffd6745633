#pragma once

#include "analyzer/placement/coloring.hpp"
#include "analyzer/placement/presence.hpp"
#include "analyzer/workload/workload.hpp"

#include <vector>

namespace tferry::analyzer {

/// Sets lead_ns and delay_ns of all presences: copies out one after the other in program order, copies in as
/// late as all that are needed later allow. `shared`: at the rates of both directions busy.
void expect_copies(std::vector<Part>& parts, const TickTimes& times, const LinkRates& link, bool shared,
                   std::int64_t chunk_bytes);

}  // namespace tferry::analyzer
