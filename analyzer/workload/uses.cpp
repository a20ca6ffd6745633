#include "analyzer/workload/uses.hpp"

#include <algorithm>

namespace tferry::analyzer {

Uses::Uses(const Workload& workload) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last_use(workload.tensors.size(), kNone);
  for (std::size_t i = 0; i < workload.operations.size(); ++i) {
    operation_begin_.push_back(by_operation_.size());
    for (const Access& access : workload.operations[i].accesses) {
      std::size_t& at = last_use[access.tensor];
      if (at == kNone || at < operation_begin_.back()) {
        at = by_operation_.size();
        by_operation_.push_back({static_cast<std::uint32_t>(i), access.tensor, false, false});
      }
      Use& use = by_operation_[at];
      const Tensor& tensor = workload.tensors[access.tensor];
      const bool fresh = !tensor.persistent && tensor.birth == i;
      use.reads |= access.kind != AccessKind::kOverwrite && !fresh;
      use.writes |= access.kind != AccessKind::kRead || fresh;
    }
  }
  operation_begin_.push_back(by_operation_.size());

  by_tensor_ = by_operation_;
  const auto order = [&](const Use& use) {
    const Tensor& tensor = workload.tensors[use.tensor];
    const bool next_iteration = !tensor.persistent && use.operation < tensor.birth;
    return use.operation + (next_iteration ? workload.operations.size() : 0);
  };
  std::stable_sort(by_tensor_.begin(), by_tensor_.end(), [&](const Use& a, const Use& b) {
    return a.tensor != b.tensor ? a.tensor < b.tensor : order(a) < order(b);
  });
  tensor_begin_.assign(workload.tensors.size() + 1, 0);
  for (const Use& use : by_tensor_) ++tensor_begin_[use.tensor + 1];
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) tensor_begin_[t + 1] += tensor_begin_[t];

  // A first use later than the birth finds memory that nobody wrote: nothing to fetch there either.
  for (std::size_t t = 0; t < workload.tensors.size(); ++t) {
    if (workload.tensors[t].persistent || tensor_begin_[t] == tensor_begin_[t + 1]) continue;
    Use& first = by_tensor_[tensor_begin_[t]];
    for (std::size_t k = operation_begin_[first.operation]; k < operation_begin_[first.operation + 1]; ++k) {
      if (by_operation_[k].tensor == t)
        first = by_operation_[k] = {first.operation, first.tensor, false, true};
    }
  }
}

std::vector<Gap> gaps(const Workload& workload, const Uses& uses) {
  std::vector<Gap> all;
  const auto count = static_cast<std::uint32_t>(workload.operations.size());
  for (std::size_t t = 0; t < uses.tensors(); ++t) {
    const std::span<const Use> life = uses.of_tensor(t);
    for (std::size_t k = 0; k < life.size(); ++k) {
      const bool last = k + 1 == life.size();
      const Tensor& tensor = workload.tensors[t];
      if (last && !tensor.persistent) {
        const std::uint32_t from = life[k].operation;
        const std::uint32_t end = tensor.death + (tensor.death < from ? count : 0) + 1;
        if (tensor.kept && end > from + 1)
          all.push_back({static_cast<std::uint32_t>(t), from, end, true, life[k].writes, true});
        break;
      }
      const Use& next = life[last ? 0 : k + 1];
      const std::uint32_t after = life[k].operation;
      const std::uint32_t before = next.operation + (next.operation <= after ? count : 0);
      all.push_back({static_cast<std::uint32_t>(t), after, before, next.reads, life[k].writes});
    }
  }
  return all;
}

}  // namespace tferry::analyzer
