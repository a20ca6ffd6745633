#include "analyzer/bound/bound.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tferry::analyzer {
namespace {

/// Windows between breakpoints: entry (i, length) runs from breakpoint i over `length` of them, around the
/// end.
template <typename T>
class Windows {
 public:
  explicit Windows(std::size_t points) : points_(points), values_(points * points) {}
  T& at(std::size_t from, std::size_t length) { return values_[from * points_ + length - 1]; }
  const T& at(std::size_t from, std::size_t length) const { return values_[from * points_ + length - 1]; }

 private:
  std::size_t points_;
  std::vector<T> values_;
};

std::vector<std::uint32_t> with_first(std::vector<std::uint32_t> points) {
  if (points.front() != 0) points.insert(points.begin(), 0);
  return points;
}

std::vector<std::uint32_t> with_last(std::vector<std::uint32_t> points, std::size_t operations) {
  const auto last = static_cast<std::uint32_t>(operations - 1);
  if (points.back() != last) points.push_back(last);
  return points;
}

class BoundFinder {
 public:
  BoundFinder(const Workload& workload, std::size_t most)
      : BoundFinder(workload, Uses(workload), std::max<std::size_t>(most, 3), false) {}
  /// Of a round, the last operation is a breakpoint, too.
  static RoundProfile profile_of(const Workload& workload, std::size_t most) {
    return BoundFinder(workload, Uses(workload), std::max<std::size_t>(most, 3), true).profile();
  }
  Bound find() const {
    Bound bound;
    bound.compute_ns = static_cast<double>(compute_time(workload_));
    const Windows<double> weight = window_times(bound.compute_ns);
    const auto chain = longest_chain(weight, &bound.time_ns);
    for (const auto& [from, length] : chain)
      bound.chain.push_back(window(from, length, weight.at(from, length)));
    for (const BoundWindow& w : bound.chain) bound.parts_ns[static_cast<int>(w.resource)] += w.time_ns;
    const double* largest = std::max_element(bound.parts_ns, bound.parts_ns + 4);
    bound.limiting = static_cast<Resource>(largest - bound.parts_ns);
    longest_chain(in_, &bound.forced_in);
    longest_chain(out_, &bound.forced_out);
    return bound;
  }

 private:
  BoundFinder(const Workload& workload, Uses uses, std::size_t most, bool last)
      : workload_(workload),
        uses_(std::move(uses)),
        points_(with_first(choose_breakpoints(workload, uses_, most))),
        in_(0),
        out_(0) {
    if (last) points_ = with_last(std::move(points_), workload.operations.size());
    in_ = Windows<std::int64_t>(points_.size());
    out_ = Windows<std::int64_t>(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      count_in(i);
      count_out(i);
    }
  }

  RoundProfile profile() const {
    const Windows<double> time = window_times(static_cast<double>(compute_time(workload_)));
    std::vector<double> compute(points_.size() + 1);
    for (std::size_t i = points_.size(); i-- > 0;) {
      const std::size_t end = i + 1 < points_.size() ? points_[i + 1] : count();
      compute[i] = compute[i + 1];
      for (std::size_t at = points_[i]; at < end; ++at)
        compute[i] += static_cast<double>(workload_.operations[at].duration_ns);
    }
    const std::vector<double> nothing(points_.size() + 1);
    return {from_first(time),       to_end(time),          from_first(in_),
            from_first(out_),       to_end(in_),           to_end(out_),
            to_last(time, compute), to_last(in_, nothing), to_last(out_, nothing)};
  }

  std::size_t count() const { return workload_.operations.size(); }

  Windows<double> window_times(double compute_ns) const {
    std::vector<double> started(workload_.operations.size() + 1);
    for (std::size_t i = 0; i < workload_.operations.size(); ++i) {
      started[i + 1] = started[i] + static_cast<double>(workload_.operations[i].duration_ns);
    }
    Windows<double> weight(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      for (std::size_t length = 1; length <= points_.size(); ++length) {
        const std::size_t end = i + length;
        const double wraps = end >= points_.size() ? compute_ns : 0;
        const double compute = started[points_[end % points_.size()]] + wraps - started[points_[i]];
        weight.at(i, length) = std::max(compute, link_time(i, length));
      }
    }
    return weight;
  }

  /// The heaviest sequence of windows from the first operation to each breakpoint, and to the end.
  template <typename T>
  std::vector<double> from_first(const Windows<T>& weight) const {
    std::vector<double> best(points_.size() + 1);
    for (std::size_t to = 1; to < best.size(); ++to) {
      for (std::size_t from = 0; from < to; ++from)
        best[to] = std::max(best[to], best[from] + static_cast<double>(weight.at(from, to - from)));
    }
    return best;
  }

  /// The same from each breakpoint to the end of the iteration.
  template <typename T>
  std::vector<double> to_end(const Windows<T>& weight) const {
    std::vector<double> best(points_.size() + 1);
    for (std::size_t from = points_.size(); from-- > 0;) {
      for (std::size_t to = from + 1; to < best.size(); ++to)
        best[from] = std::max(best[from], best[to] + static_cast<double>(weight.at(from, to - from)));
    }
    return best;
  }

  /// The same, but windows reach no further than to the start of the last breakpoint; `rest` is what then
  /// remains, at least, from a breakpoint to the iteration's end.
  template <typename T>
  std::vector<double> to_last(const Windows<T>& weight, const std::vector<double>& rest) const {
    std::vector<double> best = rest;
    for (std::size_t from = points_.size(); from-- > 0;) {
      for (std::size_t to = from + 1; to < points_.size(); ++to)
        best[from] = std::max(best[from], best[to] + static_cast<double>(weight.at(from, to - from)));
    }
    return best;
  }

  /// How many breakpoints after breakpoint i lies the first one at or past `distance` operations from it.
  std::size_t length_reaching(std::size_t i, std::size_t distance) const {
    const std::size_t target = points_[i] + distance;
    const std::size_t round = target / count();
    const auto at = std::lower_bound(points_.begin(), points_.end(), target % count());
    const std::size_t index = static_cast<std::size_t>(at - points_.begin()) + round * points_.size();
    return std::max<std::size_t>(1, index - i);
  }

  /// How many breakpoints before breakpoint j lies the last one at or before `distance` operations ahead of
  /// it.
  std::size_t length_reaching_back(std::size_t j, std::size_t distance) const {
    const std::size_t target = points_[j] + count() - distance;  // distance is at most count()
    const std::size_t round = target / count();
    const auto after = std::upper_bound(points_.begin(), points_.end(), target % count());
    const std::size_t index = static_cast<std::size_t>(after - points_.begin()) + round * points_.size();
    return j + points_.size() - index + 1;  // index - 1 is that breakpoint, one round down
  }

  void count_in(std::size_t i) {
    const std::uint32_t u = points_[i];
    std::int64_t base = -workload_.budget;
    for (const Use& use : uses_.of_operation(u)) base += use.reads ? 0 : workload_.tensors[use.tensor].size;
    std::vector<std::int64_t> from_length(points_.size() + 2);
    for (std::size_t t = 0; t < uses_.tensors(); ++t) {
      const Use* first = cyclic_first_from(t, u);
      if (!first || !first->reads) continue;
      const std::size_t distance = (first->operation + count() - u) % count();
      from_length[length_reaching(i, distance)] += workload_.tensors[t].size;
    }
    std::int64_t sum = base;
    for (std::size_t length = 1; length <= points_.size(); ++length) {
      sum += from_length[length];
      in_.at(i, length) = std::max<std::int64_t>(0, sum);
    }
  }

  void count_out(std::size_t j) {
    const std::uint32_t v = points_[j];
    std::int64_t base = -workload_.budget;
    for (const Use& use : uses_.of_operation(v)) base += workload_.tensors[use.tensor].size;
    std::vector<std::int64_t> from_length(points_.size() + 2);
    for (std::size_t t = 0; t < uses_.tensors(); ++t) {
      const Use* next = cyclic_first_from(t, v);
      if (!next) continue;
      if (!kept_during(t, v) && (!next->reads || next->operation == v)) continue;
      const std::size_t distance = distance_to_last_write(t, v);
      if (distance != 0) {
        const std::size_t length = length_reaching_back(j, distance);
        if (length <= points_.size()) from_length[length] += workload_.tensors[t].size;
      }
    }
    std::int64_t sum = base;
    for (std::size_t length = 1; length <= points_.size(); ++length) {
      sum += from_length[length];
      out_.at((j + points_.size() - length % points_.size()) % points_.size(), length) =
          std::max<std::int64_t>(0, sum);
    }
  }

  const Use* cyclic_first_from(std::size_t tensor, std::uint32_t operation) const {
    const std::span<const Use> life = uses_.of_tensor(tensor);
    const Use* best = nullptr;
    std::size_t nearest = count();
    for (const Use& use : life) {
      const std::size_t distance = (use.operation + count() - operation) % count();
      if (distance < nearest) nearest = distance, best = &use;
    }
    return best;
  }

  /// Whether an operation lies between the last use of a tensor that is kept and its death, that one
  /// included.
  bool kept_during(std::size_t tensor, std::uint32_t operation) const {
    const Tensor& kept = workload_.tensors[tensor];
    if (!kept.kept) return false;
    const std::uint32_t last = uses_.of_tensor(tensor).back().operation;
    const std::size_t since = (operation + count() - last) % count();
    return since > 0 && since <= (kept.death + count() - last) % count();
  }

  /// 1 .. count(); 0 when nothing writes it.
  std::size_t distance_to_last_write(std::size_t tensor, std::uint32_t before) const {
    std::size_t nearest = 0;
    for (const Use& use : uses_.of_tensor(tensor)) {
      if (!use.writes) continue;
      const std::size_t distance = (before + count() - use.operation - 1) % count() + 1;
      if (nearest == 0 || distance < nearest) nearest = distance;
    }
    return nearest;
  }

  double link_time(std::size_t from, std::size_t length) const {
    return workload_.link.time_for(static_cast<double>(in_.at(from, length)),
                                   static_cast<double>(out_.at(from, length)));
  }

  BoundWindow window(std::size_t from, std::size_t length, double time) const {
    BoundWindow w;
    const std::size_t end = from + length;
    w.from = points_[from];
    w.to = points_[end % points_.size()] + (end >= points_.size() ? static_cast<std::uint32_t>(count()) : 0);
    w.time_ns = time;
    w.bytes_in = in_.at(from, length);
    w.bytes_out = out_.at(from, length);
    const double in = static_cast<double>(w.bytes_in) / workload_.link.in;
    const double out = static_cast<double>(w.bytes_out) / workload_.link.out;
    if (link_time(from, length) < time || time == 0) return w;
    w.resource = std::max(in, out) < time ? Resource::kDuplex : in >= out ? Resource::kIn : Resource::kOut;
    return w;
  }

  /// The heaviest sequence of windows from some breakpoint once around to itself, as (from, length).
  template <typename T>
  std::vector<std::pair<std::size_t, std::size_t>> longest_chain(const Windows<T>& weight, T* total) const {
    const std::size_t points = points_.size();
    std::vector<T> best(points + 1);
    std::vector<std::size_t> came_from(points + 1);
    std::vector<std::pair<std::size_t, std::size_t>> chain;
    *total = -1;
    for (std::size_t start = 0; start < points; ++start) {
      best[0] = 0;
      for (std::size_t to = 1; to <= points; ++to) {
        best[to] = -1;
        for (std::size_t from = 0; from < to; ++from) {
          const T value = best[from] + weight.at((start + from) % points, to - from);
          if (value > best[to]) best[to] = value, came_from[to] = from;
        }
      }
      if (best[points] <= *total) continue;
      *total = best[points];
      chain.clear();
      for (std::size_t to = points; to != 0; to = came_from[to]) {
        chain.emplace_back((start + came_from[to]) % points, to - came_from[to]);
      }
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  const Workload& workload_;
  Uses uses_;
  std::vector<std::uint32_t> points_;
  Windows<std::int64_t> in_;
  Windows<std::int64_t> out_;
};

}  // namespace

std::string_view to_string(Resource resource) {
  switch (resource) {
    case Resource::kCompute:
      return "compute";
    case Resource::kIn:
      return "link in";
    case Resource::kOut:
      return "link out";
    case Resource::kDuplex:
      return "link both ways";
  }
  return "";
}

RoundProfile round_profile(const Workload& workload, std::size_t breakpoints) {
  return BoundFinder::profile_of(workload, breakpoints);
}

Bound lower_bound(const Workload& workload, std::size_t breakpoints) {
  return BoundFinder(workload, breakpoints).find();
}

}  // namespace tferry::analyzer
