#pragma once

#include "analyzer/tensors/tensors.hpp"
#include "analyzer/workload/workload.hpp"
#include "trace/chunk_size.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Where a run's budget goes, in chunks.
struct MemorySplit {
  std::uint32_t total = 0;
  std::uint32_t small = 0;     ///< blocks of small allocations
  std::uint32_t resident = 0;  ///< other blocks that no plan moves, the most alive together
  std::uint32_t spare = 0;     ///< for allocations that no iteration before had: 0.5 %, at least one chunk
  /// What is left for the tensors of a plan; 0: the rest alone is too much.
  std::uint32_t plan() const {
    const std::uint32_t others = small + resident + spare;
    return total > others ? total - others : 0;
  }
};

/// `typical` comes from `recording`, counted under `rules` (count_memory).
MemorySplit split_memory(const Recording& recording, const RecordedIteration& typical,
                         const trace::MemoryRules& rules, std::int64_t budget_bytes);

/// The iteration as a run under a plan has it: every movable tensor holds whole chunks from its allocation to
/// its free, however little it is used.
struct PlanWorkload {
  /// Sizes are whole chunks, the budget is that of the plan's chunks. Unlike a recorded workload it knows
  /// nothing of dead contents: the runtime would have to be told, and copies them like any other. Lives reach
  /// over the next operation where the program allocates before it frees, so that the budget holds between
  /// operations, too.
  Workload workload;
  std::vector<MemoryEvent> events;  ///< in program order; `tensor` is an index into workload.tensors
  std::int64_t chunk_bytes = 0;

  std::uint32_t pieces(std::uint32_t tensor) const {
    return static_cast<std::uint32_t>(workload.tensors[tensor].size / chunk_bytes);
  }
};

/// From a workload with lives and sizes in whole chunks, and its allocations and frees in program order.
PlanWorkload plan_workload(Workload workload, std::vector<MemoryEvent> events, std::int64_t chunk_bytes,
                           std::uint32_t chunks);

/// From a recorded iteration.
PlanWorkload plan_workload(const RecordedIteration& typical, std::int64_t chunk_bytes, std::uint32_t chunks);

}  // namespace tferry::analyzer
