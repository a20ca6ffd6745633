#pragma once

#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tferry::analyzer {

/// One launch, copy or memset of the program, in the order of the calls.
struct RecordedOperation {
  std::uint32_t signature = 0;           ///< equal: same kernel, grid and block, or same copy kind and size
  std::uint32_t name = 0;                ///< in Recording::names
  std::int64_t call_ns = 0;              ///< on the host
  std::optional<std::int64_t> start_ns;  ///< on the GPU; absent: not known when it ran
  std::optional<std::int64_t> end_ns;
  std::int64_t number = 0;  ///< among the operations of its process, as the session counts them
  bool gated = false;       ///< the runtime made it wait for memory: idle time before it is not the program's
};

/// Ranks wait for each other at operations of this name: a kernel of NCCL, or a copy between GPUs.
inline bool synchronises(const std::string& name) {
  return name.find("nccl") != std::string::npos || name == "memcpy peer";
}

struct RecordedAllocation {
  std::int64_t id = 0;
  std::int64_t bytes = 0;  ///< as the budget counts them
  std::int64_t alloc_ns = 0;
  std::optional<std::int64_t> free_ns;  ///< absent: alive at the end
  bool movable = false;
  std::int64_t requested = 0;  ///< as the program asked for them; 0: not known apart from `bytes`
  bool stays = false;          ///< part of a graph, or its address stands in device memory: never moves
  std::uint32_t label = 0;     ///< in Recording::names: category and what the program calls it

  std::int64_t asked() const { return requested > 0 ? requested : bytes; }
};

struct RecordedAccess {
  std::uint32_t operation = 0;   ///< index into Recording::operations
  std::uint32_t allocation = 0;  ///< index into Recording::allocations
  AccessKind kind = AccessKind::kMayTouch;
};

/// Texts by number, each kept once. 0 is the empty one.
class NamePool {
 public:
  std::uint32_t intern(const std::string& text) {
    const auto [place, fresh] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return place->second;
  }
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }

 private:
  std::vector<std::string> texts_ = {""};
  std::unordered_map<std::string, std::uint32_t> numbers_ = {{"", 0}};
};

/// What one process did on one GPU, as far as tensors and plans are concerned. The program's own doings only.
struct Recording {
  std::vector<RecordedOperation> operations;    ///< by call
  std::vector<RecordedAllocation> allocations;  ///< by alloc_ns
  std::vector<RecordedAccess> accesses;         ///< by operation; within one in the order of its arguments
  NamePool names;
};

}  // namespace tferry::analyzer
