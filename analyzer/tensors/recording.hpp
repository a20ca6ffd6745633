#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// One launch, copy or memset of the program, in the order of the calls.
struct RecordedOperation {
  std::uint32_t signature = 0;  ///< equal: same kernel, grid and block, or same copy kind and size
  std::string name;
  std::int64_t call_ns = 0;              ///< on the host
  std::optional<std::int64_t> start_ns;  ///< on the GPU; absent: not known when it ran
  std::optional<std::int64_t> end_ns;
  std::int64_t number = 0;  ///< among the operations of its process, as the session counts them
  bool gated = false;       ///< the runtime made it wait for memory: idle time before it is not the program's

  /// Ranks wait for each other at it: a kernel of NCCL, or a copy between GPUs.
  bool synchronises() const { return name.find("nccl") != std::string::npos || name == "memcpy peer"; }
};

struct RecordedAllocation {
  std::int64_t id = 0;
  std::int64_t bytes = 0;  ///< as the budget counts them
  std::int64_t alloc_ns = 0;
  std::optional<std::int64_t> free_ns;  ///< absent: alive at the end
  bool movable = false;
  std::int64_t requested = 0;  ///< as the program asked for them; 0: not known apart from `bytes`
  bool stays = false;          ///< part of a graph, or its address stands in device memory: never moves
  std::string label = {};      ///< category and what the program calls it; empty: neither is known

  std::int64_t asked() const { return requested > 0 ? requested : bytes; }
};

struct RecordedAccess {
  std::uint32_t operation = 0;   ///< index into Recording::operations
  std::uint32_t allocation = 0;  ///< index into Recording::allocations
  AccessKind kind = AccessKind::kMayTouch;
};

/// What one process did on one GPU, as far as tensors and plans are concerned. The program's own doings only.
struct Recording {
  std::vector<RecordedOperation> operations;    ///< by call
  std::vector<RecordedAllocation> allocations;  ///< by alloc_ns
  std::vector<RecordedAccess> accesses;         ///< by operation; within one in the order of its arguments
};

}  // namespace tferry::analyzer
