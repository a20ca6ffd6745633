#pragma once

#include "analyzer/placement/placed_plan.hpp"

#include <cstddef>
#include <vector>

namespace tferry::analyzer {

/// Plans for ranks that run the same program on one link: the first is `first`; each of the others takes last
/// what those before it move, so that the ranks move different tensors as far as the budget leaves a choice.
/// Empty where one of them finds no places.
std::vector<PlacedPlan> plans_for_ranks(const Recording& recording, const RecordedIteration& typical,
                                        const PlacedPlan& first, std::int64_t budget_bytes, std::size_t ranks,
                                        const LookaheadOptions& options);

/// Share of the bytes of the last plan that those before it move at the same times too.
double overlap_with_others(const std::vector<PlacedPlan>& plans, std::size_t rank);

}  // namespace tferry::analyzer
