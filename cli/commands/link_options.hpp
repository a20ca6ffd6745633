#pragma once

#include "analyzer/contention/solo_times.hpp"
#include "analyzer/workload/workload.hpp"

#include <string_view>

namespace tferry::cli {

/// "h2d=55.3GB/s,d2h=55.3GB/s,duplex=92GB/s": duplex is the sum of both directions while both are busy; it
/// may be left out, then it is what it is by default in proportion. Throws Failure.
analyzer::LinkRates parse_link(std::string_view text);

/// "h2d=55.3GB/s,d2h=55.3GB/s", or one of the two. Throws Failure.
analyzer::SoloRates parse_solo_rates(std::string_view text);

}  // namespace tferry::cli
