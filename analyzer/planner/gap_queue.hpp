#pragma once

#include <queue>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace tferry::analyzer {

/// The gaps around the operation that a walk through an iteration is at, the one most worth first. A gap's
/// worth is factor * (value - now), where `now` only grows on the walk; of gaps worth the same the one with
/// the lower number comes first. One thread.
class GapQueue {
 public:
  /// From this step of the walk up to `end`.
  void add(std::uint32_t gap, double factor, double value, std::size_t end) {
    by_factor_[factor].push({value, gap, end});
  }

  /// The gap worth most at a step of the walk among those that `open` says something is left of. A gap that
  /// is not open any more is left out from then on.
  template <typename Open>
  std::optional<std::uint32_t> best(std::size_t step, double now, const Open& open) {
    std::optional<std::uint32_t> found;
    double most = 0;
    for (auto at = by_factor_.begin(); at != by_factor_.end();) {
      auto& [factor, queue] = *at;
      while (!queue.empty() && (queue.top().end <= step || !open(queue.top().gap))) queue.pop();
      if (queue.empty()) {
        at = by_factor_.erase(at);
        continue;
      }
      const double worth = factor * (queue.top().value - now);
      if (!found || worth > most || (worth == most && queue.top().gap < *found)) {
        found = queue.top().gap;
        most = worth;
      }
      ++at;
    }
    return found;
  }

 private:
  struct Candidate {
    double value = 0;
    std::uint32_t gap = 0;
    std::size_t end = 0;
    bool operator<(const Candidate& other) const {
      return value != other.value ? value < other.value : gap > other.gap;
    }
  };
  std::map<double, std::priority_queue<Candidate>> by_factor_;
};

}  // namespace tferry::analyzer
