#include "runtime/plan_bindings.hpp"

#include <algorithm>

namespace tferry::runtime {
namespace {

constexpr std::uint32_t kSuspicions = 3;  ///< operations in a row that suggest another shift

}  // namespace

PlanBindings::PlanBindings(const PlanIndex& index, std::int64_t smallest)
    : index_(index),
      smallest_(smallest),
      address_of_(index.plan().tensors.size(), 0),
      listed_in_(address_of_.size(), 0) {
  for (std::uint32_t tensor = 0; tensor < address_of_.size(); ++tensor) {
    if (!wanted(tensor)) continue;
    if (index.plan().tensors[tensor].persistent == 0) {
      sizes_[index.plan().tensors[tensor].bytes];
    } else if (index.first_naming(tensor) != kNone) {  // what nothing names cannot be known, nor moves
      ++persistent_;
    }
  }
  unknown_ = persistent_;
}

std::uint32_t PlanBindings::next_of(std::int64_t bytes) const {
  const auto found = sizes_.find(bytes);
  if (found == sizes_.end()) return kNone;
  const Size& size = found->second;
  return index_.tensor_of(bytes, static_cast<std::int64_t>(size.made.size()) + size.shift);
}

void PlanBindings::allocated(std::uint64_t address, std::int64_t bytes) {
  const auto found = sizes_.find(bytes);
  if (found == sizes_.end()) return;
  const std::uint32_t tensor = next_of(bytes);
  Size& size = found->second;
  known_[address] = {kNone, bytes, static_cast<std::uint32_t>(size.made.size()), false};
  size.made.push_back(address);
  if (tensor != kNone) bind(address, tensor);
}

void PlanBindings::freed(std::uint64_t address) {
  const auto found = known_.find(address);
  if (found == known_.end()) return;
  if (found->second.tensor != kNone) unbind(found->second.tensor);
  if (found->second.number != kNone) sizes_[found->second.bytes].made[found->second.number] = 0;
  known_.erase(found);
}

std::uint32_t PlanBindings::tensor_at(std::uint64_t address) const {
  const auto found = known_.find(address);
  return found != known_.end() ? found->second.tensor : kNone;
}

void PlanBindings::bind(std::uint64_t address, std::uint32_t tensor) {
  Known& known = known_[address];
  if (known.tensor == tensor) return;
  if (known.tensor != kNone) unbind(known.tensor);
  unbind(tensor);
  known.tensor = tensor;
  address_of_[tensor] = address;
  if (index_.plan().tensors[tensor].persistent != 0) --unknown_;
}

void PlanBindings::unbind(std::uint32_t tensor) {
  const std::uint64_t address = address_of_[tensor];
  if (address == 0) return;
  known_[address].tensor = kNone;
  address_of_[tensor] = 0;
  if (index_.plan().tensors[tensor].persistent != 0) ++unknown_;
}

void PlanBindings::named(std::uint32_t position, std::span<const NamedAllocation> names) {
  list(names);
  const auto born = index_.first_named(position);
  for (std::size_t first = 0; first < born.size();) {
    std::size_t end = first + 1;
    const auto bytes = index_.plan().tensors[born[first]].bytes;
    while (end < born.size() && index_.plan().tensors[born[end]].bytes == bytes) ++end;
    correct(born.subspan(first, end - first), names);
    first = end;
  }
  bind_unknown(position, names);
  for (Known* known : entries_) {
    if (known != nullptr) known->used = true;
  }
}

/// Looks the names up and notes which tensors are among them.
void PlanBindings::list(std::span<const NamedAllocation> names) {
  ++serial_;
  entries_.clear();
  for (const NamedAllocation& name : names) {
    const auto found = known_.find(name.address);
    entries_.push_back(found != known_.end() ? &found->second : nullptr);
    if (found != known_.end() && found->second.tensor != kNone) listed_in_[found->second.tensor] = serial_;
  }
}

/// These tensors of one size are named for the first time: the unused allocations of this iteration and size
/// that the operation names should be them, by their numbers.
void PlanBindings::correct(std::span<const std::uint32_t> tensors, std::span<const NamedAllocation> names) {
  const std::int64_t bytes = index_.plan().tensors[tensors[0]].bytes;
  const auto found = sizes_.find(bytes);
  if (found == sizes_.end()) return;
  Size& size = found->second;
  if (std::any_of(tensors.begin(), tensors.end(), [&](std::uint32_t tensor) { return listed(tensor); })) {
    size.suspicions = 0;
    return;
  }
  numbers_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Known* known = entries_[i];
    if (known != nullptr && names[i].bytes == bytes && known->number != kNone && !known->used)
      numbers_.push_back(known->number);
  }
  if (numbers_.size() != tensors.size()) return;
  std::sort(numbers_.begin(), numbers_.end());
  const auto ordinal = [&](std::size_t k) {
    return static_cast<std::int64_t>(index_.plan().tensors[tensors[k]].ordinal);
  };
  const std::int64_t shift = ordinal(0) - numbers_[0];
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    if (ordinal(k) - numbers_[k] != shift) return;
  }
  if (size.suspicions == 0 || shift != size.suspected) {
    size.suspicions = 0;
    size.suspected_from = numbers_[0];
  }
  ++size.suspicions;
  size.suspected = shift;
  if (size.suspicions < kSuspicions) return;
  size.suspicions = 0;
  size.shift = shift;
  for (std::size_t number = size.suspected_from; number < size.made.size(); ++number) {
    const std::uint64_t address = size.made[number];
    if (address == 0) continue;
    const std::uint32_t tensor = index_.tensor_of(bytes, static_cast<std::int64_t>(number) + shift);
    if (tensor != kNone) {
      bind(address, tensor);
    } else if (const std::uint32_t wrong = tensor_at(address); wrong != kNone) {
      unbind(wrong);
    }
  }
  list(names);
}

/// Tensors of the operation whose allocation is not known, by the names that are nothing else.
void PlanBindings::bind_unknown(std::uint32_t position, std::span<const NamedAllocation> names) {
  missing_.clear();
  for (const std::uint32_t tensor : index_.names(position)) {
    // One that is known and not named is left what it is: the plan can name it by a stale address.
    if (wanted(tensor) && !listed(tensor) && address_of_[tensor] == 0) missing_.push_back(tensor);
  }
  while (!missing_.empty()) bind_size(index_.plan().tensors[missing_.back()].bytes, names);
}

/// Takes the missing tensors of that size off the list and binds them, if there are as many candidates.
void PlanBindings::bind_size(std::int64_t bytes, std::span<const NamedAllocation> names) {
  const auto of_size = [&](std::uint32_t tensor) { return index_.plan().tensors[tensor].bytes == bytes; };
  const auto wanted_count =
      static_cast<std::size_t>(std::count_if(missing_.begin(), missing_.end(), of_size));
  std::size_t candidates = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    candidates += names[i].bytes == bytes && is_candidate(i) ? 1 : 0;
  if (candidates == wanted_count) {
    auto tensor = std::find_if(missing_.begin(), missing_.end(), of_size);
    for (std::size_t i = 0; i < names.size() && tensor != missing_.end(); ++i) {
      if (names[i].bytes != bytes || !is_candidate(i)) continue;
      bind(names[i].address, *tensor);
      entries_[i] = &known_[names[i].address];
      tensor = std::find_if(std::next(tensor), missing_.end(), of_size);
    }
  }
  std::erase_if(missing_, of_size);
}

void PlanBindings::settle(std::span<const PlanMatching::Match> matches) {
  for (const PlanMatching::Match& match : matches) bind(match.address, match.tensor);
}

void PlanBindings::iteration_ended() {
  for (auto& [bytes, size] : sizes_) {
    for (const std::uint64_t address : size.made) {
      if (address != 0) known_[address].number = kNone;
    }
    size.made.clear();
    size.shift = 0;
    size.suspicions = 0;
  }
}

void PlanBindings::found_at(std::uint32_t position) {
  iteration_ended();
  for (auto& [bytes, size] : sizes_) {
    for (const std::uint32_t tensor : index_.of_size(bytes)) {
      const std::uint32_t first = index_.first_naming(tensor);
      if (first != kNone && first <= position) {
        size.shift =
            std::max<std::int64_t>(size.shift, std::int64_t{index_.plan().tensors[tensor].ordinal} + 1);
      }
    }
  }
}

}  // namespace tferry::runtime
