#pragma once

#include "analyzer/placement/presence.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tferry::analyzer {

/// One piece in a chunk, for one of its presences.
struct Tenancy {
  std::uint32_t begin = 0, end = 0;  ///< ticks; begin lies in the first iteration
  std::uint32_t part = 0;
  std::uint32_t piece = 0;     ///< of the part
  std::uint32_t presence = 0;  ///< of the part
};

/// Spans of an iteration, coarsely: a bit for each of 256 stretches of it.
class CoarseTimes {
 public:
  using Words = std::array<std::uint64_t, 4>;
  static constexpr std::uint32_t kStretches = 256;

  explicit CoarseTimes(std::uint32_t total_ticks) : width_((total_ticks + kStretches - 1) / kStretches) {}

  /// Every stretch that has to do with the ticks from `begin` up to `end`, which lie in one iteration.
  void touch(Words& words, std::uint32_t begin, std::uint32_t end) const {
    if (begin < end) set(words, begin / width_, (end - 1) / width_ + 1);
  }
  /// Every stretch that they cover.
  void cover(Words& words, std::uint32_t begin, std::uint32_t end) const {
    set(words, (begin + width_ - 1) / width_, end / width_);
  }
  static bool meet(const Words& a, const Words& b) {
    return ((a[0] & b[0]) | (a[1] & b[1]) | (a[2] & b[2]) | (a[3] & b[3])) != 0;
  }

 private:
  static void set(Words& words, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = first; i < end; ++i) words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  std::uint32_t width_;
};

/// Which pieces live in which chunk when, around the iteration. No chunk ever has two tenants at a time:
/// therefore its tenancies, kept in the order of their begins, are looked up by bisection.
class ChunkLines {
 public:
  ChunkLines(std::size_t chunks, std::uint32_t total_ticks)
      : lines_(chunks), masks_(chunks), total_(total_ticks), coarse_(total_ticks) {}

  std::size_t size() const { return lines_.size(); }
  std::uint32_t total() const { return total_; }
  /// In the order of their begins.
  std::span<const Tenancy> of_chunk(std::size_t chunk) const { return lines_[chunk].tenancies; }

  /// `touched` are the stretches that the part's presences touch.
  bool fits(std::size_t chunk, const Part& part, const CoarseTimes::Words& touched) const;
  CoarseTimes::Words touched_by(const Part& part) const;

  /// Calls `visit` with every tenancy that a part would collide with, once for each of the part's presences,
  /// until it answers false.
  template <typename Visit>
  void each_collision(std::size_t chunk, const Part& part, Visit visit) const {
    const std::vector<Tenancy>& line = lines_[chunk].tenancies;
    for (const Presence& presence : part.presences) {
      // From the one that may be there already, as long as they begin before it ends.
      std::size_t at = position_before(line, presence.begin % total_);
      for (std::size_t i = 0; i < line.size(); ++i, at = at + 1 < line.size() ? at + 1 : 0) {
        if (overlap(presence, line[at])) {
          if (!visit(line[at])) return;
        } else if (i > 0) {
          break;
        }
      }
    }
  }

  /// The part must fit.
  void add(std::size_t chunk, const Part& part, std::uint32_t number, std::uint32_t piece);
  void remove(std::size_t chunk, std::uint32_t part, std::uint32_t piece);

  /// The same for chunks that the same parts are in, and with all probability for no others.
  std::uint64_t signature(std::size_t chunk) const { return lines_[chunk].signature; }

  /// The tenancy that ends last before this tick, going back around the iteration; null: the chunk is empty.
  const Tenancy* before(std::size_t chunk, std::uint32_t begin) const;
  /// The one that begins first from this tick on.
  const Tenancy* after(std::size_t chunk, std::uint32_t end) const;

  /// Ticks from one moment to the next time that the other comes around, less than an iteration.
  std::uint32_t apart(std::uint32_t from, std::uint32_t to) const {
    from = within(from), to = within(to);
    return to >= from ? to - from : to + total_ - from;
  }

 private:
  /// A tick of the first iteration, from one of the first two mostly: without a division.
  std::uint32_t within(std::uint32_t tick) const {
    if (tick >= total_) tick -= total_;
    return tick < total_ ? tick : tick % total_;
  }

  struct Line {
    std::vector<Tenancy> tenancies;
    std::uint64_t signature = 0;
  };

  /// The last tenancy that begins before a tick, going back around the iteration.
  static std::size_t position_before(const std::vector<Tenancy>& line, std::uint32_t tick) {
    const auto from = static_cast<std::size_t>(first_from(line, tick) - line.begin());
    return from > 0 ? from - 1 : line.size() - 1;
  }
  static std::vector<Tenancy>::const_iterator first_from(const std::vector<Tenancy>& line,
                                                         std::uint32_t tick) {
    return std::lower_bound(line.begin(), line.end(), tick,
                            [](const Tenancy& tenancy, std::uint32_t at) { return tenancy.begin < at; });
  }
  bool overlap(const Presence& presence, const Tenancy& tenancy) const {
    return apart(presence.begin, tenancy.begin) < presence.end - presence.begin ||
           apart(tenancy.begin, presence.begin) < tenancy.end - tenancy.begin;
  }

  /// Most questions whether a part fits are answered by these.
  struct Masks {
    CoarseTimes::Words touched{}, covered{};  ///< by the chunk's tenancies
  };

  void mark(Masks& masks, const Tenancy& tenancy) const;

  std::vector<Line> lines_;
  std::vector<Masks> masks_;  ///< by chunk, close together
  std::uint32_t total_;
  CoarseTimes coarse_;
};

}  // namespace tferry::analyzer
