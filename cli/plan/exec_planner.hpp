#pragma once

#include "analyzer/placement/placed_plan.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace tferry::cli {

/// The planner of `--planner exec:PROGRAM`: a program that reads a workload (docs/workload.md) from its
/// standard input and writes a plan for it (docs/plan.md) to its standard output. PROGRAM is found as a shell
/// finds it, and run without one. Its plans say "exec:" and its file name. Throws Failure where there is no
/// such program; the planner does, with what happened, where it brings no plan that can be followed within
/// `limit`.
analyzer::Planner exec_planner(const std::string& program, std::chrono::milliseconds limit);

/// Throws Failure with everything that is wrong with a plan of `whose`; returns where nothing is.
void require_sound(const std::vector<std::string>& errors, const std::string& whose);

}  // namespace tferry::cli
