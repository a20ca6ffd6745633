#pragma once

#include "analyzer/session/route_link.hpp"
#include "trace/calibration.hpp"

namespace tferry::cli {

class Environment;

/// For each way the least that any GPU reached: for whoever does not know yet which GPU it will be.
analyzer::RouteFigures slowest_routes(const trace::Calibration& calibration);

/// That of this machine's newest calibration; nothing where there is none.
analyzer::RouteFigures routes_of_this_machine(const Environment& environment);

}  // namespace tferry::cli
