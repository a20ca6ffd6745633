#include "runtime/plan_matching.hpp"

#include <algorithm>
#include <tuple>

namespace tferry::runtime {
namespace {

constexpr double kLeastLikeness = 0.5;

}  // namespace

PlanMatching::PlanMatching(const PlanIndex& index, std::int64_t smallest)
    : index_(index), times_(index.plan().tensors.size(), 0) {
  for (std::uint32_t position = 0; position < index.size(); ++position) {
    for (const std::uint32_t tensor : index.names(position)) {
      const auto& entry = index.plan().tensors[tensor];
      if (entry.persistent == 0 || entry.bytes <= smallest) continue;
      ++times_[tensor];
      sizes_.insert(entry.bytes);
    }
  }
}

void PlanMatching::allocated(std::uint64_t address) { young_.insert(address); }

void PlanMatching::freed(std::uint64_t address) {
  seen_.erase(address);
  young_.erase(address);
}

void PlanMatching::named(std::uint32_t position, std::span<const NamedAllocation> names) {
  for (const NamedAllocation& name : names) {
    if (!sizes_.contains(name.bytes) || young_.contains(name.address)) continue;
    Seen& seen = seen_[name.address];
    if (seen.times++ == 0) seen.order = static_cast<std::uint32_t>(seen_.size());
    for (const std::uint32_t tensor : index_.names(position)) {
      if (times_[tensor] != 0 && index_.plan().tensors[tensor].bytes == name.bytes) ++seen.together[tensor];
    }
  }
}

std::vector<PlanMatching::Match> PlanMatching::iteration_ended() {
  struct Pair {
    double likeness = 0;
    std::uint32_t tensor = 0;
    std::uint32_t order = 0;
    std::uint64_t address = 0;
  };
  std::vector<Pair> pairs;
  for (const auto& [address, seen] : seen_) {
    for (const auto& [tensor, together] : seen.together) {
      const double likeness = 2.0 * together / (seen.times + times_[tensor]);
      if (likeness >= kLeastLikeness) pairs.push_back({likeness, tensor, seen.order, address});
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tuple(-a.likeness, a.tensor, a.order) < std::tuple(-b.likeness, b.tensor, b.order);
  });
  std::vector<Match> matches;
  std::unordered_set<std::uint64_t> addresses;
  std::unordered_set<std::uint32_t> tensors;
  for (const Pair& pair : pairs) {
    if (addresses.contains(pair.address) || !tensors.insert(pair.tensor).second) continue;
    addresses.insert(pair.address);
    matches.push_back({pair.address, pair.tensor});
  }
  seen_.clear();
  young_.clear();
  return matches;
}

}  // namespace tferry::runtime
