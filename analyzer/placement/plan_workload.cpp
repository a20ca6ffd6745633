#include "analyzer/placement/plan_workload.hpp"

#include "analyzer/tensors/count_memory.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

constexpr std::int64_t kSpareShare = 200;  // one chunk in so many

/// Memory is held from birth to death, and every use needs the contents. What is dead after its last known
/// use is kept all the same: the program has not freed it, so it may use it.
void use_all_life(Workload& workload) {
  for (Operation& operation : workload.operations) {
    for (Access& access : operation.accesses) {
      if (access.kind != AccessKind::kRead) access.kind = AccessKind::kUpdate;
    }
  }
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
    Tensor& tensor = workload.tensors[t];
    if (tensor.persistent) continue;
    tensor.kept = true;
    std::vector<Access>& accesses = workload.operations[tensor.birth].accesses;
    const bool used = std::any_of(accesses.begin(), accesses.end(),
                                  [t](const Access& access) { return access.tensor == t; });
    if (!used) accesses.push_back({t, AccessKind::kUpdate});
  }
}

/// A tensor freed after an allocation between the same two operations is taken to live on for the second.
void extend_lives(Workload& workload, const std::vector<MemoryEvent>& events) {
  bool allocated = false;
  for (std::size_t e = 0; e < events.size(); ++e) {
    if (e == 0 || events[e].position != events[e - 1].position) allocated = false;
    if (!events[e].frees) allocated = true;
    if (!events[e].frees || !allocated) continue;
    Tensor& tensor = workload.tensors[events[e].tensor];
    if (events[e].position != tensor.birth) tensor.death = events[e].position;
  }
}

}  // namespace

MemorySplit split_memory(const Recording& recording, const RecordedIteration& typical,
                         const trace::MemoryRules& rules, std::int64_t budget_bytes) {
  const auto chunks = [&rules](std::int64_t bytes) {
    return static_cast<std::uint32_t>(rules.pieces(static_cast<std::uint64_t>(bytes)));
  };
  Workload blocks;
  blocks.operations.resize(typical.workload.operations.size());
  for (const MatchedTensor& matched : typical.tensors) {
    const bool small = matched.requested <= static_cast<std::int64_t>(rules.largest_small());
    if (!matched.movable && !small) blocks.tensors.push_back(matched.tensor);
  }
  MemorySplit split;
  split.total = static_cast<std::uint32_t>(static_cast<std::uint64_t>(budget_bytes) / rules.chunk);
  split.small = chunks(small_memory(recording, rules));
  split.resident = chunks(footprint(blocks));
  split.spare = std::max<std::uint32_t>(1, split.total / kSpareShare);
  return split;
}

PlanWorkload plan_workload(Workload workload, std::vector<MemoryEvent> events, std::int64_t chunk_bytes,
                           std::uint32_t chunks) {
  PlanWorkload plan{std::move(workload), std::move(events), chunk_bytes};
  plan.workload.budget = chunks * chunk_bytes;
  use_all_life(plan.workload);
  extend_lives(plan.workload, plan.events);
  return plan;
}

PlanWorkload plan_workload(const RecordedIteration& typical, std::int64_t chunk_bytes, std::uint32_t chunks) {
  std::vector<std::uint32_t> place(typical.tensors.size(), ~std::uint32_t{0});
  for (std::uint32_t t = 0; t < typical.tensor.size(); ++t) place[typical.tensor[t]] = t;
  std::vector<MemoryEvent> events;
  for (const MemoryEvent& event : typical.events) {
    if (place[event.tensor] == ~std::uint32_t{0}) continue;
    events.push_back({event.position, place[event.tensor], event.frees});
  }
  return plan_workload(typical.workload, std::move(events), chunk_bytes, chunks);
}

}  // namespace tferry::analyzer
