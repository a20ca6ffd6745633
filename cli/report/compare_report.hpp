#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <vector>

namespace tferry::cli {

/// What differs between two sessions, per iteration where both have iterations, else in all: time, kernels,
/// copies, waits and contention of each GPU, by its number; who loses how much to whom, and waits for whose
/// turns; then kernels by name, those whose time differs most first. Differences are below minus above.
/// Throws trace::SessionError.
std::vector<Table> compare_sessions(const Scope& above, const Scope& below);

}  // namespace tferry::cli
