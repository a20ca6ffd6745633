#pragma once

#include "analyzer/iterations/period.hpp"
#include "analyzer/tensors/recording.hpp"
#include "analyzer/tensors/tensors.hpp"

#include <vector>

namespace tferry::analyzer {

/// Allocations and frees of the typical iteration in program order: where its memory goes depends on which of
/// two calls between the same operations comes first. Each tensor's order is that of its typical instance.
/// `typical` has its tensors and their lives.
std::vector<MemoryEvent> memory_events(const Recording& recording, const std::vector<IterationSpan>& spans,
                                       const RecordedIteration& typical);

/// The iterations moved so that they begin where the fewest bytes of per-iteration tensors are alive
/// (ALGORITHMS.md, rule 5): what lives across the boundary is hardest to know again. `typical` was made of
/// `iterations`. Those that would not be whole are left out; where less than two would remain, or nothing is
/// gained, the iterations are returned as they are.
Iterations move_boundary(const Recording& recording, const Iterations& iterations,
                         const RecordedIteration& typical);

}  // namespace tferry::analyzer
