#pragma once

#include "analyzer/session/analysis.hpp"
#include "cli/plan/plan_reference.hpp"
#include "cli/report/table.hpp"
#include "trace/session.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tferry::cli {

/// Makes plans for so many ranks on a link that move different tensors, for the first process of the analysis
/// that has a plan, and stores them in the session, named "rank 1 of 2" and so on; that of rank 0, which is
/// the plan of a rank alone, becomes the newest. What they move, and how much of it others move too, as a
/// table.
Table store_rank_plans(std::span<const analyzer::RankAnalysis> ranks, std::size_t count,
                       const std::filesystem::path& session);

/// The plans that were stored together with this one, by rank; `reference` names that of rank 0, or none,
/// which is the newest. Throws Failure where it is not one of several.
std::vector<PlanReference> find_rank_plans(const PlanReference& reference);

}  // namespace tferry::cli
