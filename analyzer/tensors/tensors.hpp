#pragma once

#include "analyzer/iterations/period.hpp"
#include "analyzer/tensors/recording.hpp"

#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Allocations that are the same tensor in every iteration.
struct MatchedTensor {
  Tensor tensor;  ///< life in positions of the typical iteration; named by what the program calls it
  std::vector<std::uint32_t> allocations;  ///< indices into the recording; one for a persistent tensor
  std::vector<std::uint32_t> iterations;  ///< of each, the iteration that it was born in; empty if persistent
  std::uint32_t accesses = 0;             ///< operations per iteration that name it
  std::uint32_t first_access = 0;         ///< position; of a tensor that something names
  std::uint32_t last_access = 0;
  bool movable = false;
  std::int64_t requested = 0;  ///< bytes as the program asks for them
  std::uint32_t ordinal = 0;   ///< among the allocations of that many bytes in an iteration; 0 if persistent
  std::uint32_t model = 0;     ///< of `allocations`, the one whose life is typical
};

/// One allocation or free of the typical iteration, before the operation at `position`.
struct MemoryEvent {
  std::uint32_t position = 0;
  std::uint32_t tensor = 0;  ///< index into RecordedIteration::tensors; not persistent
  bool frees = false;
  bool operator==(const MemoryEvent&) const = default;
};

/// A recording reduced to its typical iteration.
struct RecordedIteration {
  std::vector<std::uint32_t>
      regular;        ///< indices of the iterations with the most common sequence of operations
  Workload workload;  ///< movable tensors only; budget and link are not set
  std::vector<std::uint32_t> tensor;   ///< for each of the workload's tensors, its index in `tensors`
  std::vector<MatchedTensor> tensors;  ///< all, movable or not, that live during a regular iteration
  std::int64_t resident_bytes = 0;     ///< most bytes of tensors that cannot move, alive together
  std::int64_t footprint_bytes = 0;    ///< most bytes of all tensors, alive together
  double iteration_ns = 0;  ///< median time from one regular iteration's first operation to its successor's
  std::int64_t untimed_operations = 0;  ///< of the typical iteration, for which no time is known
  std::int64_t long_lives = 0;          ///< tensors that outlive the birth of their successor
  std::int64_t long_life_bytes = 0;     ///< of all their instances that are alive together
  std::int64_t sporadic_allocations =
      0;                            ///< made in too few iterations, or elsewhere in them, to be a tensor
  std::vector<MemoryEvent> events;  ///< in program order: position, then by the host's time
  /// For each operation, the tensors that it names in the order of its arguments, each once, as in the last
  /// regular iteration.
  std::vector<std::vector<std::uint32_t>> named;
};

/// Matches allocations across iterations and reads off what an iteration does. `iterations` is what
/// find_iterations made of the recording's signatures.
///
/// - The typical iteration is the most common sequence of signatures; the others are left out. A duration
///   is the smallest one at its position, less what overlaps operations before it; so is the idle time, which
///   counts only where the runtime did not make the operation wait.
/// - An allocation made in an iteration is the k-th of exactly that many bytes there, and that is what it is
///   matched by: an extra allocation of another size shifts nothing. Allocations older than the regular
///   iterations, and those made during them and never freed, are persistent. What outlives its successor's
///   birth (the loss that a program still holds) counts as one resident tensor as large as all its instances
///   together. Persistent tensors that no operation names cannot move either: nobody would know them again.
/// - What a tensor is used for is the union over the regular iterations; where they differ, the use that
///   demands more.
///
/// Times that are missing or reversed count as no duration. Pure; any thread.
RecordedIteration typical_iteration(const Recording& recording, const Iterations& iterations);

}  // namespace tferry::analyzer
