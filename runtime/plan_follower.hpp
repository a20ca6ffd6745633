#pragma once

#include "runtime/plan_bindings.hpp"
#include "runtime/plan_index.hpp"
#include "runtime/plan_matching.hpp"
#include "runtime/plan_position.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tferry::runtime {

/// Follows a program through the iterations of a plan: told of its allocations, frees and operations in
/// program order, it says where in the plan an operation is, and which allocation is which tensor.
///
/// At first it looks for the program in the plan, then it observes until an iteration has passed after which
/// all persistent tensors are known, or nearly all after some iterations more (what a single stale address
/// named may never be found): then the plan can be adopted, at that iteration's end. Under an adopted plan it
/// goes on the same way. Nothing is moved or mapped here. Pure logic; one thread at a time.
class PlanFollower {
 public:
  static constexpr std::uint32_t kNone = PlanIndex::kNone;

  struct Place {
    std::uint32_t position = kNone;  ///< of an operation; kNone: it is not in the plan
    bool found = false;              ///< the one before it was not
  };
  struct Counts {
    std::uint64_t operations = 0;  ///< all from the adoption on
    std::uint64_t matched = 0;
    std::uint64_t departures = 0;
    std::uint64_t rejoins = 0;
    std::uint64_t iterations = 0;  ///< ended, as far as that was noticed
    std::uint64_t followed = 0;    ///< of these, without an operation more or less
  };

  PlanFollower(std::shared_ptr<const PlanIndex> index, std::int64_t smallest);

  const PlanIndex& index() const { return *index_; }
  const PlanBindings& bindings() const { return bindings_; }

  /// The tensor that an allocation of so many bytes would be now; kNone: none that is known.
  std::uint32_t next_of(std::int64_t bytes) const { return counting() ? bindings_.next_of(bytes) : kNone; }
  void allocated(std::uint64_t address, std::int64_t bytes);
  void freed(std::uint64_t address);

  /// Before an operation is submitted.
  Place begin(std::uint64_t signature, std::span<const NamedAllocation> names);
  /// After it was, or after it was refused. True: an iteration ends here; only then plans change.
  bool end(const Place& place, bool submitted);

  /// At the end of an iteration: (nearly) all of its operations were found in the plan.
  bool whole() const { return whole_; }
  /// At the end of an iteration: everything that a plan needs is known.
  bool ready() const { return ready_; }
  void set_adopted(bool adopted);
  bool adopted() const { return adopted_; }
  /// Adopted, and the last operation was in the plan.
  bool following() const { return adopted_ && position_.in_plan(); }
  bool in_plan() const { return position_.in_plan(); }

  /// Not adopted, and for long no operation was found in the plan: it is another program's.
  bool foreign() const;
  /// Not adopted although iterations were found: the memory that they name is not that of the plan.
  bool mismatched() const { return !adopted_ && observed_ >= kPatience; }
  /// Adopted, and out of the plan for so long that what it holds is better used otherwise.
  bool lost() const;
  const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint64_t kExcursion = 16;  ///< operations off the plan in which ordinals still count
  static constexpr std::uint64_t kPatience = 8;    ///< iterations observed
  static constexpr std::uint64_t kSpare = 2;  ///< iterations observed after which some tensors may be missing
  static constexpr std::size_t kSparedOf = 20;  ///< one of so many

  bool counting() const { return position_.in_plan() || (ever_ && position_.astray() <= kExcursion); }
  void iteration_ended();
  bool known_enough() const;

  std::shared_ptr<const PlanIndex> index_;
  PlanPosition position_;
  PlanBindings bindings_;
  PlanMatching matching_;
  Counts counts_;
  std::uint64_t iteration_operations_ = 0;  ///< in the iteration under way
  std::uint64_t iteration_matched_ = 0;
  std::uint64_t observed_ = 0;  ///< whole iterations seen since it was last adopted
  bool ever_ = false;           ///< the program was found in the plan
  bool adopted_ = false;
  bool whole_ = false;
  bool ready_ = false;
};

}  // namespace tferry::runtime
