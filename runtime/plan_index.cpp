#include "runtime/plan_index.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tferry::runtime {
namespace {

using trace::FlatPlan;

/// For every position the first step at or after it.
std::vector<std::size_t> steps_at(const std::vector<FlatPlan::Step>& steps, std::size_t operations) {
  std::vector<std::size_t> first(operations + 1, steps.size());
  std::size_t step = 0;
  for (std::size_t position = 0; position <= operations; ++position) {
    while (step < steps.size() && steps[step].position < position) ++step;
    first[position] = step;
  }
  return first;
}

}  // namespace

PlanIndex::PlanIndex(FlatPlan plan) : plan_(std::move(plan)) {
  index_operations();
  index_tensors();
  find_telling_windows();
}

void PlanIndex::index_operations() {
  first_naming_.assign(plan_.tensors.size(), kNone);
  for (std::uint32_t position = 0; position < size(); ++position) {
    positions_[signature(position)].push_back(position);
    for (const std::uint32_t tensor : names(position)) {
      first_naming_[tensor] = std::min(first_naming_[tensor], position);
    }
  }
  leaves_at_ = steps_at(plan_.leaves, plan_.operations.size());
  returns_at_ = steps_at(plan_.returns, plan_.operations.size());
}

void PlanIndex::index_tensors() {
  std::size_t pieces = 0;
  for (std::uint32_t tensor = 0; tensor < plan_.tensors.size(); ++tensor) {
    const FlatPlan::Tensor& entry = plan_.tensors[tensor];
    first_piece_.push_back(pieces);
    pieces += entry.pieces;
    if (entry.persistent != 0) continue;
    of_size_[entry.bytes].push_back(tensor);
    if (first_naming_[tensor] != kNone) first_named_.push_back(tensor);
  }
  for (auto& [bytes, list] : of_size_) {
    std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan_.tensors[a].ordinal < plan_.tensors[b].ordinal;
    });
  }
  const auto key = [&](std::uint32_t tensor) {
    const FlatPlan::Tensor& entry = plan_.tensors[tensor];
    return std::tuple(first_naming_[tensor], entry.bytes, entry.ordinal);
  };
  std::sort(first_named_.begin(), first_named_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::size_t next = 0;
  for (std::uint32_t position = 0; position <= size(); ++position) {
    while (next < first_named_.size() && first_naming_[first_named_[next]] < position) ++next;
    first_named_at_.push_back(next);
  }
}

/// Windows of one more operation at a time: those whose hash occurs once are telling.
void PlanIndex::find_telling_windows() {
  const std::uint32_t count = size();
  telling_window_.assign(count, 0);
  std::vector<std::uint64_t> hash(count, 0);
  std::unordered_map<std::uint64_t, std::uint32_t> occurrences;
  const std::size_t longest = std::min<std::size_t>(kLongestWindow, count);
  for (std::uint32_t length = 1; length <= longest; ++length) {
    occurrences.clear();
    for (std::uint32_t end = 0; end < count; ++end) {
      const std::uint32_t added = (end + count - (length - 1)) % count;
      hash[end] = (hash[end] ^ signature(added)) * 0x9E37'79B9'7F4A'7C15ULL;
      hash[end] ^= hash[end] >> 29;
      ++occurrences[hash[end]];
    }
    for (std::uint32_t end = 0; end < count; ++end) {
      if (telling_window_[end] == 0 && occurrences[hash[end]] == 1) telling_window_[end] = length;
    }
  }
}

std::span<const std::uint32_t> PlanIndex::names(std::uint32_t position) const {
  const FlatPlan::Operation& operation = plan_.operations[position];
  return std::span(plan_.names).subspan(operation.first_name, operation.name_count);
}

std::span<const std::uint32_t> PlanIndex::first_named(std::uint32_t position) const {
  const std::size_t first = first_named_at_[position];
  return std::span(first_named_).subspan(first, first_named_at_[position + 1] - first);
}

std::span<const FlatPlan::Step> PlanIndex::leaves(std::uint32_t position) const {
  return std::span(plan_.leaves)
      .subspan(leaves_at_[position], leaves_at_[position + 1] - leaves_at_[position]);
}

std::span<const FlatPlan::Step> PlanIndex::returns(std::uint32_t position) const {
  return std::span(plan_.returns)
      .subspan(returns_at_[position], returns_at_[position + 1] - returns_at_[position]);
}

std::span<const std::uint32_t> PlanIndex::places(std::uint32_t tensor, std::uint32_t address) const {
  const FlatPlan::Tensor& entry = plan_.tensors[tensor];
  return std::span(plan_.places)
      .subspan(entry.first_place + std::size_t{address} * entry.pieces, entry.pieces);
}

std::span<const std::uint32_t> PlanIndex::positions(std::uint64_t signature) const {
  const auto found = positions_.find(signature);
  if (found == positions_.end()) return {};
  return found->second;
}

std::span<const std::uint32_t> PlanIndex::of_size(std::int64_t bytes) const {
  const auto found = of_size_.find(bytes);
  if (found == of_size_.end()) return {};
  return found->second;
}

std::uint32_t PlanIndex::tensor_of(std::int64_t bytes, std::int64_t ordinal) const {
  const auto list = of_size(bytes);
  const auto found = std::lower_bound(
      list.begin(), list.end(), ordinal,
      [&](std::uint32_t tensor, std::int64_t wanted) { return plan_.tensors[tensor].ordinal < wanted; });
  return found != list.end() && plan_.tensors[*found].ordinal == ordinal ? *found : kNone;
}

std::vector<bool> PlanIndex::away_before(std::uint32_t position) const {
  const std::size_t pieces = plan_.tensors.empty() ? 0 : first_piece_.back() + plan_.tensors.back().pieces;
  std::vector<bool> away(pieces, false);
  const auto set = [&](const FlatPlan::Step& step, bool value) {
    const std::size_t first = first_piece_[step.tensor] + step.first;
    for (std::size_t piece = first; piece < first + step.count; ++piece) away[piece] = value;
  };
  // The last step of each piece counts: those from here to the end are of the iteration before.
  for (std::uint32_t i = 0; i < size(); ++i) {
    const std::uint32_t at = (position + i) % size();
    for (const FlatPlan::Step& step : returns(at)) set(step, false);
    for (const FlatPlan::Step& step : leaves(at)) set(step, true);
  }
  return away;
}

}  // namespace tferry::runtime
