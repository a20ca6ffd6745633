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

/// All points of a round, by falling work.
std::vector<Cut> cuts(const std::vector<double>& work, const std::vector<double>& in,
                      const std::vector<double>& out, std::uint64_t iterations, bool work_after) {
  std::vector<Cut> all;
  const std::size_t whole =
      work_after ? 0 : work.size() - 1;              // entry that stands for a whole iteration of work
  const std::size_t full = work.size() - 1 - whole;  // ... and of bytes
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const auto bytes_iterations = static_cast<double>(i),
               work_iterations = static_cast<double>(iterations - 1 - i);
    for (std::size_t k = 0; k < work.size(); ++k) {
      all.push_back({work_iterations * work[whole] + work[k], bytes_iterations * in[full] + in[k],
                     bytes_iterations * out[full] + out[k]});
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
    before.push_back(
        cuts(profile.time_after_ns, profile.in_before, profile.out_before, iterations_per_round, true));
    after.push_back(
        cuts(profile.time_before_ns, profile.in_after, profile.out_after, iterations_per_round, false));
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
