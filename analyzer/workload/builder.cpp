#include "analyzer/workload/builder.hpp"

#include <algorithm>
#include <cmath>

namespace tferry::analyzer {

WorkloadBuilder::WorkloadBuilder(std::string name, std::string source) {
  workload_.name = std::move(name);
  workload_.source = std::move(source);
}

std::uint32_t WorkloadBuilder::add(std::string name, std::int64_t size, bool persistent) {
  workload_.tensors.push_back({std::move(name), size, persistent, persistent ? 0 : kNever, 0});
  return static_cast<std::uint32_t>(workload_.tensors.size() - 1);
}

std::uint32_t WorkloadBuilder::persistent(std::string name, std::int64_t size) {
  return add(std::move(name), size, true);
}

std::uint32_t WorkloadBuilder::fresh(std::string name, std::int64_t size) {
  return add(std::move(name), size, false);
}

void WorkloadBuilder::operation(std::string name, double duration_ns, const Touches& touches) {
  const auto now = static_cast<std::uint32_t>(workload_.operations.size());
  Operation operation{std::move(name), static_cast<std::int64_t>(std::ceil(duration_ns)), 0, {}};
  const auto add_all = [&](const std::vector<std::uint32_t>& tensors, AccessKind kind) {
    for (const std::uint32_t index : tensors) {
      operation.accesses.push_back({index, kind});
      Tensor& tensor = workload_.tensors[index];
      if (tensor.persistent) continue;
      tensor.birth = std::min(tensor.birth, now);
      tensor.death = now;
    }
  };
  add_all(touches.reads, AccessKind::kRead);
  add_all(touches.overwrites, AccessKind::kOverwrite);
  add_all(touches.updates, AccessKind::kUpdate);
  workload_.operations.push_back(std::move(operation));
}

void WorkloadBuilder::release(std::uint32_t tensor) {
  workload_.tensors[tensor].death = static_cast<std::uint32_t>(workload_.operations.size() - 1);
}

Workload WorkloadBuilder::build() const {
  Workload result = workload_;
  std::vector<std::uint32_t> renumbered(result.tensors.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < workload_.tensors.size(); ++i) {
    const Tensor& tensor = workload_.tensors[i];
    if (!tensor.persistent && tensor.birth == kNever) continue;
    renumbered[i] = kept;
    result.tensors[kept++] = tensor;
  }
  result.tensors.resize(kept);
  for (Operation& operation : result.operations) {
    for (Access& access : operation.accesses) access.tensor = renumbered[access.tensor];
  }
  result.budget = std::max<std::int64_t>(1, footprint(result));
  return result;
}

}  // namespace tferry::analyzer
