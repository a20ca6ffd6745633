#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tferry::analyzer {

/// Room during each operation of an iteration: takes from whole ranges, and finds where it lacks, each in the
/// logarithm of the number of operations (a segment tree of sums and minima). One thread.
class RoomLine {
 public:
  explicit RoomLine(const std::vector<std::int64_t>& room) : count_(room.size()) {
    while (leaves_ < count_) leaves_ *= 2;
    least_.assign(2 * leaves_, 0);
    taken_.assign(2 * leaves_, 0);
    std::copy(room.begin(), room.end(), least_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_; --node > 0;) pull(node);
  }

  /// Takes `bytes` from every operation in [begin, end), counted on around the iteration, at most once
  /// around.
  void take(std::size_t begin, std::size_t end, std::int64_t bytes) {
    for_each_part(begin, end,
                  [&](std::size_t from, std::size_t to) { take(1, 0, leaves_, from, to, bytes); });
  }

  /// The first operation from which on, up to `end`, all have `bytes` of room; `begin` at the earliest.
  std::size_t room_from(std::size_t begin, std::size_t end, std::int64_t bytes) const {
    const std::size_t base = (end - 1) / count_ * count_;
    if (begin >= end) return end;
    const std::size_t split = std::max(begin, base);
    std::size_t lacking = last_below(1, 0, leaves_, split - base, end - base, bytes);
    if (lacking != kNone) return base + lacking + 1;
    if (begin >= base) return begin;
    const std::size_t before = base - count_;
    lacking = last_below(1, 0, leaves_, begin - before, count_, bytes);
    return lacking == kNone ? begin : before + lacking + 1;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void pull(std::size_t node) {
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]) - taken_[node];
  }

  template <typename Part>
  void for_each_part(std::size_t begin, std::size_t end, const Part& part) const {
    while (begin < end) {
      const std::size_t base = begin / count_ * count_;
      const std::size_t to = std::min(end, base + count_);
      part(begin - base, to - base);
      begin = to;
    }
  }

  void take(std::size_t node, std::size_t low, std::size_t high, std::size_t from, std::size_t to,
            std::int64_t bytes) {
    if (to <= low || high <= from) return;
    if (from <= low && high <= to) {
      least_[node] -= bytes;
      taken_[node] += bytes;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    take(2 * node, low, middle, from, to, bytes);
    take(2 * node + 1, middle, high, from, to, bytes);
    pull(node);
  }

  /// The last operation in [from, to) with less than `bytes`.
  std::size_t last_below(std::size_t node, std::size_t low, std::size_t high, std::size_t from,
                         std::size_t to, std::int64_t bytes) const {
    if (to <= low || high <= from || (from <= low && high <= to && least_[node] >= bytes)) return kNone;
    if (high - low == 1) return low;
    const std::size_t middle = (low + high) / 2;
    bytes += taken_[node];  // what was taken from all of this node is not in its children
    const std::size_t right = last_below(2 * node + 1, middle, high, from, to, bytes);
    return right != kNone ? right : last_below(2 * node, low, middle, from, to, bytes);
  }

  std::size_t count_;
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> least_;  ///< by node: room of its operation that has least
  std::vector<std::int64_t> taken_;  ///< by node: from all its operations, beside what its children know
};

}  // namespace tferry::analyzer
