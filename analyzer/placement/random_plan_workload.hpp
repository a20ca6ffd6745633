#pragma once

#include "analyzer/placement/plan_workload.hpp"
#include "analyzer/workload/random_workload.hpp"

#include <algorithm>
#include <random>
#include <tuple>

namespace tferry::analyzer {

/// For property tests: a random workload in whole chunks of 4 MiB, its allocations and frees between two
/// operations in any order, and as many chunks as its budget is worth, but enough for every operation.
inline PlanWorkload random_plan_workload(std::uint32_t seed, std::size_t operations, std::size_t tensors) {
  constexpr std::int64_t kChunk = 4 << 20;
  Workload workload = random_workload(seed, operations, tensors);
  for (Tensor& tensor : workload.tensors) tensor.size = (tensor.size + kChunk - 1) / kChunk * kChunk;
  std::mt19937 random(seed);
  std::vector<std::pair<std::uint32_t, MemoryEvent>> shuffled;
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) {
    const Tensor& tensor = workload.tensors[t];
    if (tensor.persistent) continue;
    const auto freed = static_cast<std::uint32_t>((tensor.death + 1) % operations);
    // Before its own successor is allocated, or it would need two places.
    shuffled.push_back(
        {freed == tensor.birth ? 0u : 1 + static_cast<std::uint32_t>(random() % 1000), {freed, t, true}});
    shuffled.push_back({1 + static_cast<std::uint32_t>(random() % 1000), {tensor.birth, t, false}});
  }
  std::sort(shuffled.begin(), shuffled.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.position, a.first, a.second.tensor) <
           std::tie(b.second.position, b.first, b.second.tensor);
  });
  std::vector<MemoryEvent> events;
  for (const auto& [order, event] : shuffled) events.push_back(event);
  const std::int64_t budget = workload.budget;
  PlanWorkload plan = plan_workload(std::move(workload), std::move(events), kChunk, 1);
  std::int64_t least = budget;
  for (const std::int64_t bytes : working_sets(plan.workload)) least = std::max(least, bytes);
  plan.workload.budget = (least + kChunk - 1) / kChunk * kChunk;
  return plan;
}

/// Without what a plan's workload adds for the time between operations.
inline Workload real_lives(const PlanWorkload& plan) {
  Workload workload = plan.workload;
  const auto count = static_cast<std::uint32_t>(workload.operations.size());
  for (const MemoryEvent& event : plan.events) {
    Tensor& tensor = workload.tensors[event.tensor];
    if (!event.frees || tensor.death != event.position || tensor.birth == event.position) continue;
    tensor.death = (event.position + count - 1) % count;
  }
  return workload;
}

}  // namespace tferry::analyzer
