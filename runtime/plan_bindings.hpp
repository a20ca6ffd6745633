#pragma once

#include "runtime/plan_index.hpp"
#include "runtime/plan_matching.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tferry::runtime {

/// Which of the program's allocations is which tensor of a plan.
///
/// - Per-iteration tensors are known when they are allocated: by size, and how many of that size the
///   iteration has made before. Programs do not repeat themselves exactly; one allocation more shifts all
///   later ones of its size. Where an operation is the first to name some tensors of a size, and the
///   allocations of that size that it names are all shifted by the same number, the numbers are set right.
/// - Persistent tensors, and per-iteration ones made before the plan was looked for, are known by the
///   operations that name them: at its position in the plan an operation names some tensors of a size that
///   are not known yet, and as many allocations of that size. When the numbers differ (arguments can hold
///   addresses that mean nothing), other operations decide, and all of an iteration's together (`settle`).
///
/// A wrong binding costs speed only: whatever an operation names is fetched whatever the plan says. Pure
/// logic; one thread at a time.
class PlanBindings {
 public:
  static constexpr std::uint32_t kNone = PlanIndex::kNone;

  /// Tensors of at most `smallest` bytes are left alone: no operation's gate ever sees them.
  PlanBindings(const PlanIndex& index, std::int64_t smallest);

  /// The tensor that the next allocation of so many bytes will be; kNone: none.
  std::uint32_t next_of(std::int64_t bytes) const;
  void allocated(std::uint64_t address, std::int64_t bytes);
  void freed(std::uint64_t address);
  /// The operation at this position names these, in the order of its arguments.
  void named(std::uint32_t position, std::span<const NamedAllocation> names);
  /// The last operation of an iteration was submitted: ordinals begin anew.
  void iteration_ended();
  /// The program was found at this position after operations that are not in the plan: ordinals are what
  /// they are there in the plan.
  void found_at(std::uint32_t position);

  /// Address of the tensor's allocation, the last one made; 0: not known.
  std::uint64_t address_of(std::uint32_t tensor) const { return address_of_[tensor]; }
  std::uint32_t tensor_at(std::uint64_t address) const;
  /// Persistent tensors whose allocation is not known.
  std::size_t unknown() const { return unknown_; }
  std::size_t persistent() const { return persistent_; }
  /// These are those tensors, whatever was taken for them before.
  void settle(std::span<const PlanMatching::Match> matches);

 private:
  struct Known {
    std::uint32_t tensor = kNone;
    std::int64_t bytes = 0;
    std::uint32_t number = kNone;  ///< in Size::made; kNone: not of this iteration
    bool used = false;             ///< an operation named it
  };
  /// A size of which there are per-iteration tensors.
  struct Size {
    std::vector<std::uint64_t> made;   ///< addresses, in this iteration; 0: freed since
    std::int64_t shift = 0;            ///< ordinal less number
    std::int64_t suspected = 0;        ///< the shift that the last operation suggested
    std::uint32_t suspicions = 0;      ///< operations in a row that suggested it
    std::uint32_t suspected_from = 0;  ///< first number that they named
  };

  void bind(std::uint64_t address, std::uint32_t tensor);
  void unbind(std::uint32_t tensor);
  bool wanted(std::uint32_t tensor) const { return index_.plan().tensors[tensor].bytes > smallest_; }
  bool listed(std::uint32_t tensor) const { return listed_in_[tensor] == serial_; }
  void list(std::span<const NamedAllocation> names);
  void correct(std::span<const std::uint32_t> tensors, std::span<const NamedAllocation> names);
  void bind_unknown(std::uint32_t position, std::span<const NamedAllocation> names);
  void bind_size(std::int64_t bytes, std::span<const NamedAllocation> names);
  bool is_candidate(std::size_t name) const {
    return entries_[name] == nullptr || entries_[name]->tensor == kNone;
  }

  const PlanIndex& index_;
  std::int64_t smallest_;
  std::vector<std::uint64_t> address_of_;  ///< by tensor
  std::vector<std::uint64_t> listed_in_;   ///< by tensor: the last operation that named its allocation
  std::unordered_map<std::uint64_t, Known> known_;
  std::unordered_map<std::int64_t, Size> sizes_;
  std::uint64_t serial_ = 0;
  std::size_t unknown_ = 0;
  std::size_t persistent_ = 0;
  // scratch of one operation
  std::vector<Known*> entries_;  ///< by name
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> missing_;
};

}  // namespace tferry::runtime
