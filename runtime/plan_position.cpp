#include "runtime/plan_position.hpp"

#include <algorithm>

namespace tferry::runtime {

PlanPosition::Match PlanPosition::advance(std::uint64_t signature) {
  history_[seen_++ % history_.size()] = signature;
  if (in_plan_ && index_.signature(next_) == signature) {
    const std::uint32_t position = next_;
    next_ = (next_ + 1) % index_.size();
    return {position, false, false};
  }
  in_plan_ = false;
  ++astray_;
  return search(signature);
}

void PlanPosition::retreat(std::uint32_t position) {
  const bool last = in_plan_ && position != kNone && next_ == (position + 1) % index_.size();
  if (!last) return;  // another thread's operation came after it
  next_ = position;
  --seen_;
}

PlanPosition::Match PlanPosition::search(std::uint64_t signature) {
  const std::uint32_t size = index_.size();
  std::uint32_t best = kNone;
  std::uint32_t best_rank = kNone;  // nearby ones by their distance, then any other
  for (const std::uint32_t position : index_.positions(signature)) {
    const std::uint32_t telling = index_.telling_window(position);
    const std::uint32_t distance = (position + size - next_) % size;
    std::uint32_t rank = kNone;
    if (ever_ && distance < std::min(kNear, size)) {
      // What was carried out before it was lost is not carried out again.
      const std::uint32_t run = run_length(position, std::min<std::uint64_t>(astray_, distance + 1));
      const bool certain = telling != 0 && run >= telling && distance < kNearRun;
      if (run >= kNearRun || certain) rank = distance;
    }
    if (rank == kNone && telling != 0) {
      const std::uint32_t needed = std::max(telling, kLeastRun);
      if (run_length(position, needed) >= needed) rank = kNear;
    }
    if (rank < best_rank) {
      best = position;
      best_rank = rank;
    }
  }
  if (best == kNone) return {};
  const bool passed = ever_ && best < next_;
  in_plan_ = ever_ = true;
  astray_ = 0;
  next_ = (best + 1) % size;
  return {best, true, passed};
}

/// How many of the last operations, at most `most`, are those up to `end` in the plan.
std::uint32_t PlanPosition::run_length(std::uint32_t end, std::uint64_t most) const {
  const std::uint64_t longest = std::min<std::uint64_t>({most, seen_, history_.size()});
  std::uint32_t run = 0;
  while (run < longest) {
    const std::uint32_t position = (end + index_.size() - run % index_.size()) % index_.size();
    if (index_.signature(position) != remembered(run)) break;
    ++run;
  }
  return run;
}

}  // namespace tferry::runtime
