#pragma once

#include "analyzer/workload/validate.hpp"
#include "analyzer/workload/workload.hpp"

#include <algorithm>
#include <random>

namespace tferry::analyzer {

/// For property tests: a valid workload with every kind of tensor and access, and a budget between the
/// largest working set and the footprint. The same seed gives the same workload. Times are microseconds,
/// sizes up to 64 MB.
inline Workload random_workload(std::uint32_t seed, std::size_t operations, std::size_t tensors) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  Workload workload{"random", "synthetic", {}, {}, 0, {}};
  workload.link.duplex_in = 30 + below(20);
  workload.link.duplex_out = 30 + below(20);
  for (std::size_t i = 0; i < operations; ++i) {
    workload.operations.push_back({"op" + std::to_string(i), std::int64_t{1000} * below(1500), 0, {}});
  }
  for (std::size_t t = 0; t < tensors; ++t) {
    Tensor tensor{"t" + std::to_string(t), std::int64_t{1'000'000} * (1 + below(64)), below(2) == 0, 0, 0};
    std::uint32_t length = static_cast<std::uint32_t>(operations);
    if (!tensor.persistent) {
      tensor.birth = below(operations);
      length = 1 + below(operations - 1);
      tensor.death = static_cast<std::uint32_t>((tensor.birth + length - 1) % operations);
      tensor.kept = below(3) == 0;
    }
    const std::uint32_t uses = 1 + below(4);
    for (std::uint32_t k = 0; k < uses; ++k) {
      const std::size_t at = (tensor.birth + (k == 0 && !tensor.persistent ? 0 : below(length))) % operations;
      workload.operations[at].accesses.push_back(
          {static_cast<std::uint32_t>(t), static_cast<AccessKind>(below(4))});
    }
    workload.tensors.push_back(tensor);
  }
  std::int64_t least = 1;
  for (const std::int64_t bytes : working_sets(workload)) least = std::max(least, bytes);
  const std::int64_t most = std::max(least, footprint(workload));
  workload.budget = least + (most - least) * below(101) / 100;
  validate(workload);
  return workload;
}

}  // namespace tferry::analyzer
