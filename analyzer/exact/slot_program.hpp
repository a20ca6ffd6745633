#pragma once

#include "analyzer/workload/slot_workload.hpp"

#include <cstdint>
#include <optional>

namespace tferry::analyzer {

/// What becomes of a copy in host memory at the next use of the tensor, if that writes nothing.
enum class Copies {
  kLast,  ///< it stays good, so that a tensor can be copied out ahead in one gap and leave for nothing in a
          ///< later one
  kEnd    ///< it is given up: what leaves is copied out in the same gap, as plans have it
};

/// Whether any periodic schedule repeats the iteration every `period` slots: operations in order, each with
/// all its tensors on the card, one chunk a slot each way, a chunk copied out before its memory is used for
/// others unless host memory has it already, memory within the budget in every slot. Nothing of planner or
/// simulator is in it. Empty when CBC did not decide within the seconds. The workload must consist of whole
/// slots and chunks, and its operations last at least one slot.
std::optional<bool> schedule_exists(const Workload& workload, const Slots& slots, std::int64_t period,
                                    double seconds, Copies copies = Copies::kLast);

/// The shortest period in slots, from `lowest` (below which there is none) to `highest` (which exists); found
/// downwards, since whatever repeats in some period also repeats in a longer one. Empty when a step could not
/// be decided.
std::optional<std::int64_t> shortest_period(const Workload& workload, const Slots& slots, std::int64_t lowest,
                                            std::int64_t highest, double seconds,
                                            Copies copies = Copies::kLast);

}  // namespace tferry::analyzer
