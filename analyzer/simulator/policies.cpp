#include "analyzer/simulator/policies.hpp"

#include <algorithm>
#include <numeric>

namespace tferry::analyzer {

RecencyList::RecencyList(std::size_t tensors) : next_(tensors + 1), previous_(tensors + 1) {
  const auto nodes = static_cast<std::uint32_t>(tensors + 1);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    next_[i] = (i + 1) % nodes;
    previous_[i] = (i + nodes - 1) % nodes;
  }
}

void RecencyList::unlink(std::uint32_t node) {
  next_[previous_[node]] = next_[node];
  previous_[next_[node]] = previous_[node];
}

void RecencyList::touch(std::uint32_t tensor) {
  unlink(tensor);
  const auto head = static_cast<std::uint32_t>(next_.size() - 1);
  previous_[tensor] = previous_[head];
  next_[tensor] = head;
  next_[previous_[head]] = tensor;
  previous_[head] = tensor;
}

std::optional<std::uint32_t> RecencyList::oldest_evictable(const Memory& memory) {
  const auto head = static_cast<std::uint32_t>(next_.size() - 1);
  for (std::uint32_t node = next_[head], after; node != head; node = after) {
    after = next_[node];
    const TensorState& state = memory[node];
    if (state.evictable() > 0) return node;
    if (state.card > 0 || state.pins > 0) continue;
    unlink(node);  // it is not there, until it is launched again
    next_[node] = previous_[node] = node;
  }
  return std::nullopt;
}

LmsEarlyPolicy::LmsEarlyPolicy(const Workload& workload)
    : OnDemandPolicy(workload), uses_(workload), last_use_(workload.tensors.size()) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < uses_.operations(); ++i) {
    first_use_.push_back(count);
    count += uses_.of_operation(i).size();
  }
  reclaimed_.resize(count);
  reclaimed_now_.resize(count);
}

LmsPolicy::LmsPolicy(const Workload& workload)
    : OnDemandPolicy(workload), headroom_(0), last_use_(workload.tensors.size()) {
  for (const Tensor& tensor : workload.tensors) headroom_ = std::max(headroom_, tensor.size);
  headroom_ = std::min(headroom_, workload.budget / 16);
}

void LmsPolicy::launching(std::uint32_t tensor, std::uint64_t position) {
  OnDemandPolicy::launching(tensor, position);
  last_use_[tensor] = position;
}

void LmsPolicy::finished(std::uint64_t position, Mover& mover) {
  if (!swapping_) return;
  std::int64_t leaving = mover.leaving();
  while (mover.memory().free() + leaving < headroom_) {
    const std::optional<std::uint32_t> tensor = oldest(mover.memory());
    if (!tensor || last_use_[*tensor] + kRecentOperations >= position) return;
    const std::int64_t bytes =
        std::min(headroom_ - mover.memory().free() - leaving, mover.memory()[*tensor].evictable());
    const std::int64_t free_before = mover.memory().free();
    mover.page_out(*tensor, bytes);
    leaving += bytes - (mover.memory().free() - free_before);
  }
}

void LmsEarlyPolicy::launching(std::uint32_t tensor, std::uint64_t position) {
  OnDemandPolicy::launching(tensor, position);
  const std::size_t operation = position % uses_.operations();
  const auto at = uses_.of_operation(operation);
  for (std::size_t k = 0; k < at.size(); ++k) {
    if (at[k].tensor != tensor) continue;
    const std::size_t use = first_use_[operation] + k;
    reclaimed_[use] = std::max(reclaimed_[use], reclaimed_now_[use]);
    reclaimed_now_[use] = 0;
    last_use_[tensor] = use;
  }
}

void LmsEarlyPolicy::finished(std::uint64_t position, Mover& mover) {
  const std::size_t operation = position % uses_.operations();
  const auto at = uses_.of_operation(operation);
  for (std::size_t k = 0; k < at.size(); ++k) {
    const std::int64_t bytes = reclaimed_[first_use_[operation] + k];
    if (bytes > 0) mover.page_out(at[k].tensor, bytes);
  }
}

void LmsEarlyPolicy::evicted(std::uint32_t tensor, std::int64_t bytes) {
  reclaimed_now_[last_use_[tensor]] += bytes;
}

}  // namespace tferry::analyzer
