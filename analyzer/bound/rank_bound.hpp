#pragma once

#include "analyzer/bound/bound.hpp"
#include "analyzer/workload/workload.hpp"

#include <cstdint>
#include <span>

namespace tferry::analyzer {

/// What sets the time of ranks that share a link.
enum class RankLimit : std::uint8_t {
  kOneRank,  ///< the slowest rank by itself
  kLink,     ///< all forced bytes of all ranks through the link
  kCut       ///< forced bytes before a point of every rank, and what the rank that is through last has left
};

struct RankBound {
  double time_ns = 0;  ///< of an iteration, mean of a round
  RankLimit limit = RankLimit::kOneRank;
};

/// No plans and no order of transfers make an iteration shorter when these ranks share a link and wait for
/// each other every `iterations_per_round` iterations, before their first operations. The largest of: each
/// rank's own bound; the time for all forced bytes of a round on the shared link; for every time tau, the
/// bytes that ranks must have moved before the last point with at least tau of work behind it, one after the
/// other, and then tau; and the mirror image (ALGORITHMS: sets of ranks and cuts; ranks sorted by what they
/// have left). A round lasts until the last operations of all ranks have ended: what the next round's first
/// operations wait for may come in later. Relative to the same as lower_bound. Requires
/// valid workloads and at least one. Pure.
RankBound rank_bound(std::span<const Workload* const> ranks, const LinkRates& shared,
                     std::uint64_t iterations_per_round, std::size_t breakpoints = 120);

}  // namespace tferry::analyzer
