#pragma once

#include "analyzer/placement/chunk_lines.hpp"
#include "analyzer/placement/presence.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace tferry::analyzer {

/// When the ticks of an iteration are expected to pass.
struct TickTimes {
  std::vector<double> at_ns;  ///< ascending; one for each tick
  double iteration_ns = 0;

  double at(std::uint32_t tick) const {
    const auto total = static_cast<std::uint32_t>(at_ns.size());
    return at_ns[tick % total] + tick / total * iteration_ns;
  }

  /// From one tick to the next time that the other comes around.
  double between(std::uint32_t from, std::uint32_t to) const {
    const double time = at_ns[to % at_ns.size()] - at_ns[from % at_ns.size()];
    return time < 0 ? time + iteration_ns : time;
  }
};

struct ColoringOptions {
  double patience_ns = 0;   ///< time that a chunk should be empty for each copy between two tenants, at least
  bool long_first = false;  ///< those parts first that are on the card longest; else in program order
};

struct Coloring {
  ChunkLines lines;
  std::vector<std::vector<std::uint32_t>> chunks;  ///< by part and piece
};

/// Gives every piece of every part one chunk for all its presences, so that no chunk has two tenants at a
/// time: a colouring of sets of circular arcs, which need not exist even where no moment has more pieces than
/// chunks. Nothing when none was found.
///
/// What is always there comes first, then part by part; each takes the chunks in which it leaves the least
/// time unused before and after it (best fit), time being dearer where copies are expected not to be done by
/// then. Pieces for which no chunk is left turn others out, which look for another chunk in turn.
std::optional<Coloring> color(const std::vector<Part>& parts, std::size_t chunks, const TickTimes& times,
                              const ColoringOptions& options);

}  // namespace tferry::analyzer
