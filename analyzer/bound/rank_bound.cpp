#include "analyzer/bound/rank_bound.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace tferry::analyzer {
namespace {

/// A point of a rank's round: work on one side of it, bytes on the other.
struct Cut {
  double work_ns, bytes_in, bytes_out;
};

/// What a rank has to do from a breakpoint of an iteration on, until the round is over: the rest of that
/// iteration, whole ones, and the last one, whose end is that of its last operation.
double until_round_ends(const std::vector<double>& after, const std::vector<double>& to_end,
                        std::size_t point, std::uint64_t iterations_after) {
  if (iterations_after == 0) return to_end[point];
  return after[point] + static_cast<double>(iterations_after - 1) * after.front() + to_end.front();
}

/// And from the round's begin to a breakpoint.
double since_round_began(const std::vector<double>& before, std::size_t point,
                         std::uint64_t iterations_before) {
  return static_cast<double>(iterations_before) * before.back() + before[point];
}

/// All points of a round, by falling work.
std::vector<Cut> cuts(const RoundProfile& profile, std::uint64_t iterations, bool work_after) {
  std::vector<Cut> all;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t later = iterations - 1 - i;
    // The last entry is the next iteration's first, or no point of this round.
    for (std::size_t k = 0; k + 1 < profile.time_before_ns.size(); ++k) {
      if (work_after) {
        all.push_back({until_round_ends(profile.time_after_ns, profile.time_to_end_ns, k, later),
                       since_round_began(profile.in_before, k, i),
                       since_round_began(profile.out_before, k, i)});
      } else {
        all.push_back({since_round_began(profile.time_before_ns, k, i),
                       until_round_ends(profile.in_after, profile.in_to_end, k, later),
                       until_round_ends(profile.out_after, profile.out_to_end, k, later)});
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Cut& a, const Cut& b) { return a.work_ns > b.work_ns; });
  // With at least so much work on one side, the most bytes on the other.
  for (std::size_t k = 1; k < all.size(); ++k) {
    all[k].bytes_in = std::max(all[k].bytes_in, all[k - 1].bytes_in);
    all[k].bytes_out = std::max(all[k].bytes_out, all[k - 1].bytes_out);
  }
  return all;
}

double best_cut(const std::vector<std::vector<Cut>>& ranks, const LinkRates& shared) {
  std::vector<double> taus;
  for (const auto& rank : ranks) {
    for (const Cut& cut : rank) taus.push_back(cut.work_ns);
  }
  std::sort(taus.begin(), taus.end());
  taus.erase(std::unique(taus.begin(), taus.end()), taus.end());
  double best = 0;
  for (const double tau : taus) {
    double in = 0, out = 0;
    for (const auto& rank : ranks) {
      const auto after =
          std::partition_point(rank.begin(), rank.end(), [&](const Cut& cut) { return cut.work_ns >= tau; });
      if (after == rank.begin()) continue;  // this rank has less left: it is not of the set
      in += std::prev(after)->bytes_in;
      out += std::prev(after)->bytes_out;
    }
    best = std::max(best, shared.time_for(in, out) + tau);
  }
  return best;
}

}  // namespace

RankBound rank_bound(std::span<const Workload* const> ranks, const LinkRates& shared,
                     std::uint64_t iterations_per_round, std::size_t breakpoints) {
  struct Known {
    Bound bound;
    RoundProfile profile;
  };
  std::map<const Workload*, Known> known;
  std::vector<std::vector<Cut>> before, after;
  double one = 0, in = 0, out = 0;
  for (const Workload* workload : ranks) {
    const auto [found, is_new] = known.try_emplace(workload);
    if (is_new) found->second = {lower_bound(*workload), round_profile(*workload, breakpoints)};
    const auto& [bound, profile] = found->second;
    one = std::max(one, bound.time_ns);
    in += static_cast<double>(bound.forced_in);
    out += static_cast<double>(bound.forced_out);
    before.push_back(cuts(profile, iterations_per_round, true));
    after.push_back(cuts(profile, iterations_per_round, false));
  }
  RankBound result{one, RankLimit::kOneRank};
  const auto raise = [&](double time, RankLimit limit) {
    if (time > result.time_ns) result = {time, limit};
  };
  raise(shared.time_for(in, out), RankLimit::kLink);
  const auto each = static_cast<double>(iterations_per_round);
  raise(best_cut(before, shared) / each, RankLimit::kCut);
  raise(best_cut(after, shared) / each, RankLimit::kCut);
  return result;
}

}  // namespace tferry::analyzer
