#pragma once

#include "analyzer/workload/validate.hpp"
#include "analyzer/workload/workload.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

namespace tferry::analyzer {

/// Time and memory in whole steps: chunks of this size, slots in which one chunk crosses the link each way.
struct Slots {
  std::int64_t chunk_bytes = 4'000'000;
  std::int64_t slot_ns = 100'000;
};

/// A random job for the exact solver: operations of whole slots, tensors of whole chunks, a link that carries
/// one chunk a slot in each direction whatever the other does, and a budget between the largest working set
/// and the footprint. Weights that are read, state that is updated, and activations that are read again in
/// the reverse order. The same seed gives the same workload.
inline Workload slot_workload(std::uint32_t seed, const Slots& slots = {}) {
  std::mt19937 random(seed);
  const auto from = [&](std::uint32_t least, std::uint32_t most) -> std::uint32_t {
    return least + random() % (most - least + 1);
  };
  Workload workload{"slots", "synthetic", {}, {}, 0, {}};
  const double rate = static_cast<double>(slots.chunk_bytes) / static_cast<double>(slots.slot_ns);
  workload.link = {rate, rate, rate, rate};
  const std::uint32_t half = from(2, 3);
  const std::uint32_t count = 2 * half;
  for (std::uint32_t i = 0; i < count; ++i) {
    workload.operations.push_back(
        {"op" + std::to_string(i), slots.slot_ns * std::int64_t{from(2, 8)}, 0, {}});
  }
  const std::uint32_t tensors = from(half + 2, half + 5);
  for (std::uint32_t t = 0; t < tensors; ++t) {
    Tensor tensor{"t" + std::to_string(t), slots.chunk_bytes * std::int64_t{from(2, 6)}, true, 0, 0};
    if (t < half) {  // made going there, read going back
      tensor.persistent = false;
      tensor.birth = t;
      tensor.death = count - 1 - t;
      workload.operations[t].accesses.push_back({t, AccessKind::kOverwrite});
      if (t + 1 < half) workload.operations[t + 1].accesses.push_back({t, AccessKind::kRead});
      workload.operations[tensor.death].accesses.push_back({t, AccessKind::kRead});
    } else {
      const std::uint32_t there = from(0, half - 1);
      const bool state = random() % 3 == 0;
      const std::uint32_t back = state ? from(half, count - 1) : count - 1 - there;
      workload.operations[there].accesses.push_back({t, AccessKind::kRead});
      workload.operations[back].accesses.push_back({t, state ? AccessKind::kUpdate : AccessKind::kRead});
    }
    workload.tensors.push_back(tensor);
  }
  std::int64_t least = 1;
  for (const std::int64_t bytes : working_sets(workload)) least = std::max(least, bytes);
  const std::int64_t most = std::max(least, footprint(workload));
  workload.budget = least + (most - least) / slots.chunk_bytes * from(1, 9) / 10 * slots.chunk_bytes;
  validate(workload);
  return workload;
}

}  // namespace tferry::analyzer
