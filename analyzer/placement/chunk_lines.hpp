#pragma once

#include "analyzer/placement/presence.hpp"

#include <algorithm>
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

/// Which pieces live in which chunk when, around the iteration. No chunk ever has two tenants at a time.
class ChunkLines {
 public:
  ChunkLines(std::size_t chunks, std::uint32_t total_ticks) : lines_(chunks), total_(total_ticks) {}

  std::size_t size() const { return lines_.size(); }
  std::span<const Tenancy> of_chunk(std::size_t chunk) const { return lines_[chunk]; }

  bool fits(std::size_t chunk, const Part& part) const {
    return std::none_of(lines_[chunk].begin(), lines_[chunk].end(),
                        [&](const Tenancy& tenancy) { return collides(tenancy, part); });
  }
  bool collides(const Tenancy& tenancy, const Part& part) const {
    return std::any_of(part.presences.begin(), part.presences.end(), [&](const Presence& presence) {
      return overlap(presence.begin, presence.end, tenancy.begin, tenancy.end);
    });
  }

  void add(std::size_t chunk, const Part& part, std::uint32_t number, std::uint32_t piece) {
    for (std::uint32_t p = 0; p < part.presences.size(); ++p) {
      const Presence& presence = part.presences[p];
      const std::uint32_t begin = presence.begin % total_;
      lines_[chunk].push_back({begin, begin + (presence.end - presence.begin), number, piece, p});
    }
  }
  void remove(std::size_t chunk, std::uint32_t part, std::uint32_t piece) {
    std::erase_if(lines_[chunk], [&](const Tenancy& t) { return t.part == part && t.piece == piece; });
  }

  /// The tenancy that ends last before this tick, going back around the iteration; null: the chunk is empty.
  const Tenancy* before(std::size_t chunk, std::uint32_t begin) const {
    const Tenancy* found = nullptr;
    std::uint32_t nearest = 0;
    for (const Tenancy& tenancy : lines_[chunk]) {
      const std::uint32_t distance = apart(tenancy.end, begin);
      if (found == nullptr || distance < nearest) found = &tenancy, nearest = distance;
    }
    return found;
  }
  /// The one that begins first from this tick on.
  const Tenancy* after(std::size_t chunk, std::uint32_t end) const {
    const Tenancy* found = nullptr;
    std::uint32_t nearest = 0;
    for (const Tenancy& tenancy : lines_[chunk]) {
      const std::uint32_t distance = apart(end, tenancy.begin);
      if (found == nullptr || distance < nearest) found = &tenancy, nearest = distance;
    }
    return found;
  }

  /// Ticks from one moment to the next time that the other comes around, less than an iteration.
  std::uint32_t apart(std::uint32_t from, std::uint32_t to) const {
    return (to % total_ + total_ - from % total_) % total_;
  }
  std::uint32_t total() const { return total_; }

 private:
  bool overlap(std::uint32_t begin, std::uint32_t end, std::uint32_t other_begin,
               std::uint32_t other_end) const {
    return apart(begin, other_begin) < end - begin || apart(other_begin, begin) < other_end - other_begin;
  }

  std::vector<std::vector<Tenancy>> lines_;
  std::uint32_t total_;
};

}  // namespace tferry::analyzer
