#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tferry::analyzer {

/// What swapping competes with, estimated from the durations of a recorded iteration. Optimistic: nothing
/// beside what is said here is charged.
struct Alternatives {
  /// Activation checkpointing (Chen et al. 2016): what does not fit is dropped and computed again before its
  /// next use, each tensor by the operations that wrote it, of which everything else that they need is taken
  /// to be there.
  struct Recompute {
    double time_ns = 0;          ///< of an iteration
    std::int64_t bytes = 0;      ///< dropped
    std::size_t operations = 0;  ///< carried out once more
  };
  std::optional<Recompute> recompute;  ///< empty: what cannot be computed again is more than the budget

  /// A smaller batch: tensors scale with it but for those that are persistent or exactly as large as one that
  /// is (gradients); so do operations that touch any that scales.
  struct SmallerBatch {
    double share = 0;    ///< of the batch that fits
    double time_ns = 0;  ///< for as many samples as an iteration has now
  };
  std::optional<SmallerBatch> smaller_batch;  ///< empty: what does not scale is more than the budget
};

/// For the workload's budget. Requires a valid workload; deterministic; any thread.
Alternatives estimate_alternatives(const Workload& workload);

}  // namespace tferry::analyzer
