#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// From begin to end, in ns.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Interval&) const = default;
};

/// The same time as disjoint intervals in order; what is empty or reversed is left out.
inline std::vector<Interval> united(std::vector<Interval> all) {
  std::erase_if(all, [](const Interval& one) { return one.end <= one.begin; });
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> result;
  for (const Interval& one : all) {
    if (!result.empty() && one.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, one.end);
    } else {
      result.push_back(one);
    }
  }
  return result;
}

/// Time covered by disjoint intervals in order.
inline std::int64_t length(const std::vector<Interval>& disjoint) {
  std::int64_t sum = 0;
  for (const Interval& one : disjoint) sum += one.end - one.begin;
  return sum;
}

/// Calls `visit(interval)` for every part of [begin, end) that disjoint intervals in order cover.
template <typename Visit>
void for_each_overlap(const std::vector<Interval>& disjoint, std::int64_t begin, std::int64_t end,
                      Visit&& visit) {
  auto at = std::upper_bound(disjoint.begin(), disjoint.end(), begin,
                             [](std::int64_t time, const Interval& one) { return time < one.end; });
  for (; at != disjoint.end() && at->begin < end; ++at) {
    const Interval part{std::max(begin, at->begin), std::min(end, at->end)};
    if (part.begin < part.end) visit(part);
  }
}

/// How much of [begin, end) they cover.
inline std::int64_t overlap(const std::vector<Interval>& disjoint, std::int64_t begin, std::int64_t end) {
  std::int64_t sum = 0;
  for_each_overlap(disjoint, begin, end, [&](const Interval& part) { sum += part.end - part.begin; });
  return sum;
}

/// The rest of [begin, end).
inline std::vector<Interval> without(const std::vector<Interval>& disjoint, std::int64_t begin,
                                     std::int64_t end) {
  std::vector<Interval> rest;
  std::int64_t from = begin;
  for_each_overlap(disjoint, begin, end, [&](const Interval& part) {
    if (from < part.begin) rest.push_back({from, part.begin});
    from = part.end;
  });
  if (from < end) rest.push_back({from, end});
  return rest;
}

}  // namespace tferry::analyzer
