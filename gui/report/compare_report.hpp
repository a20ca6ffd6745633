#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <vector>

namespace tferry::gui {

/// What differs between two sessions, per iteration where both have iterations, else in all: time, kernels,
/// copies, waits and contention of each GPU, by its number; then kernels by name, those whose time differs
/// most first. Differences are below minus above. Throws trace::SessionError.
std::vector<cli::Table> compare_sessions(const cli::Scope& above, const cli::Scope& below);

}  // namespace tferry::gui
