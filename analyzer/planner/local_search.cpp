#include "analyzer/planner/local_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tferry::analyzer {

LocalSearch::LocalSearch(const GapTable& gaps, std::int64_t chunk_bytes, Judge judge, std::mt19937& random)
    : gaps_(gaps), chunk_(chunk_bytes), judge_(std::move(judge)), random_(random) {}

LocalSearch::Found LocalSearch::improve(std::vector<std::int64_t> parked, int rounds) {
  Simulation now = judge_(parked);
  stalls_ = now.stalls_ns;
  Found best{parked, now.time_ns};
  double time = now.time_ns;
  for (int round = 0; round < rounds && gaps_.size() > 0; ++round) {
    std::vector<std::int64_t> other = parked;
    const int changes = 1 + static_cast<int>(random_() % 3);
    bool changed = false;
    for (int i = 0; i < changes; ++i) changed |= change(other);
    if (!changed || other == parked) continue;
    Simulation then = judge_(other);
    const double heat = 0.01 * best.time_ns * (1 - static_cast<double>(round) / rounds);
    const double draw = static_cast<double>(random_() % 1'000'000 + 1) * 1e-6;
    if (then.time_ns > time - heat * std::log(draw)) continue;
    parked = std::move(other);
    time = then.time_ns;
    stalls_ = std::move(then.stalls_ns);
    if (time < best.time_ns) best = {parked, time};
  }
  return best;
}

/// Mostly an operation that stalled, or one a little before it.
std::size_t LocalSearch::place() {
  double sum = 0;
  for (const double stall : stalls_) sum += stall;
  const std::size_t count = gaps_.operations();
  if (sum <= 0 || random_() % 4 == 0) return random_() % count;
  double draw = sum * (static_cast<double>(random_() % 1'000'000) * 1e-6);
  std::size_t at = 0;
  for (; at + 1 < count && draw >= stalls_[at]; ++at) draw -= stalls_[at];
  return (at + count - random_() % std::min<std::size_t>(count, 3)) % count;
}

bool LocalSearch::change(std::vector<std::int64_t>& parked) {
  const std::vector<std::uint32_t> around = gaps_.around(place());
  if (around.empty()) return false;
  const std::uint32_t g = around[random_() % around.size()];
  const std::int64_t size = gaps_.bytes(g);
  const bool whole = random_() % 3 == 0;
  const std::int64_t step = whole ? size : chunk_ * static_cast<std::int64_t>(1 + random_() % 3);
  if (random_() % 2 == 0) {
    if (parked[g] == size) return false;
    parked[g] = std::min(size, parked[g] + step);
    return true;
  }
  if (parked[g] == 0) return false;
  const std::vector<std::int64_t> before = parked;
  const std::int64_t left = std::max<std::int64_t>(0, parked[g] - step);
  parked[g] = left / chunk_ * chunk_;
  if (covers(parked) || refill(parked, g)) return true;
  parked = before;
  return false;
}

bool LocalSearch::covers(const std::vector<std::int64_t>& parked) const {
  const std::vector<std::int64_t> away = gaps_.away(parked);
  for (std::size_t t = 0; t < away.size(); ++t) {
    if (away[t] < gaps_.excess(t)) return false;
  }
  return true;
}

/// Others take over what is lacking.
bool LocalSearch::refill(std::vector<std::int64_t>& parked, std::uint32_t not_this) {
  std::vector<std::int64_t> away = gaps_.away(parked);
  for (std::size_t t = 0; t < away.size(); ++t) {
    if (away[t] >= gaps_.excess(t)) continue;
    const std::vector<std::uint32_t> around = gaps_.around(t);
    std::size_t tries = 0;
    std::size_t at = around.empty() ? 0 : random_() % around.size();
    while (away[t] < gaps_.excess(t)) {
      if (++tries > around.size()) return false;
      const std::uint32_t g = around[at++ % around.size()];
      if (g == not_this || parked[g] == gaps_.bytes(g)) continue;
      const std::int64_t lacking = (gaps_.excess(t) - away[t] + chunk_ - 1) / chunk_ * chunk_;
      const std::int64_t more = std::min(lacking, gaps_.bytes(g) - parked[g]);
      parked[g] += more;
      for (std::uint32_t i = gaps_[g].after + 1; i < gaps_[g].before; ++i) away[i % away.size()] += more;
    }
  }
  return true;
}

}  // namespace tferry::analyzer
