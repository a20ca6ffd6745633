#pragma once

#include "runtime/plan_index.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tferry::runtime {

/// What an operation names: an allocation by the address that it begins at, with the bytes asked for.
struct NamedAllocation {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};

/// Which of the program's allocations are the persistent tensors of a plan, by all operations of an iteration
/// that name them.
///
/// A model has many weights of one size, an optimizer names dozens of them in one launch, and arguments hold
/// stale addresses: no single operation tells which is which. Over an iteration each does: an allocation that
/// is named at the positions at which the plan names a tensor is that tensor. Likeness is Dice's coefficient
/// of the two sets of positions; the most alike are taken first, down to a half. Tensors that are always
/// named together (the two moments of an optimizer) are told apart by the order of their names, and where
/// that is wrong, the plan moves both at the same times anyway.
///
/// Only for the iterations before a plan is adopted: it allocates. Pure logic; one thread at a time.
class PlanMatching {
 public:
  struct Match {
    std::uint64_t address = 0;
    std::uint32_t tensor = 0;
  };

  /// Tensors of at most `smallest` bytes are left alone: no operation's gate ever sees them.
  PlanMatching(const PlanIndex& index, std::int64_t smallest);

  /// What the iteration allocates is none of what lives on.
  void allocated(std::uint64_t address);
  void freed(std::uint64_t address);
  /// The operation at this position names these, in the order of its arguments.
  void named(std::uint32_t position, std::span<const NamedAllocation> names);
  /// An iteration ended: what it told, each address and tensor at most once. The next one begins from
  /// nothing.
  std::vector<Match> iteration_ended();

 private:
  struct Seen {
    std::uint32_t order = 0;  ///< in which they were first named
    std::uint32_t times = 0;  ///< positions that named it
    std::unordered_map<std::uint32_t, std::uint32_t>
        together;  ///< of these, such as name the tensor in the plan
  };

  const PlanIndex& index_;
  std::vector<std::uint32_t> times_;  ///< by tensor: positions that name it; 0: it is not looked for
  std::unordered_set<std::int64_t> sizes_;
  std::unordered_map<std::uint64_t, Seen> seen_;  ///< by address
  std::unordered_set<std::uint64_t> young_;
};

}  // namespace tferry::runtime
