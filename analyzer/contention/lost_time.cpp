#include "analyzer/contention/lost_time.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tferry::analyzer {
namespace {

/// Less than this of a transfer's solo time is noise of the clock.
constexpr double kNoise = 0.01;
/// From this share of the victim's bytes on, foreign traffic explains what nobody recorded.
constexpr double kForeignShare = 0.05;
/// From this share of foreign traffic on it is called after who can have moved it.
constexpr double kMostOf = 0.5;

struct Rival {
  std::size_t transfer;
  Shared shared;
  double weight_ns = 0;  ///< its part of the time in which rivals ran
  std::int64_t begin_ns, end_ns;
};

/// All that overlap a transfer and share something with it.
class Overlaps {
 public:
  Overlaps(std::span<const HostTransfer> transfers, std::span<const LinkPath> paths)
      : transfers_(transfers), paths_(paths), order_(transfers.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(),
              [&](std::size_t a, std::size_t b) { return transfers[a].start_ns < transfers[b].start_ns; });
    std::int64_t latest = 0;
    for (const std::size_t i : order_) {
      latest_end_.push_back(latest = std::max(latest, transfers[i].end_ns));
    }
  }

  std::vector<Rival> of(std::size_t victim) const {
    const HostTransfer& v = transfers_[victim];
    std::vector<Rival> rivals;
    auto at = std::lower_bound(order_.begin(), order_.end(), v.end_ns, [&](std::size_t i, std::int64_t time) {
      return transfers_[i].start_ns < time;
    });
    while (at != order_.begin()) {
      --at;
      if (latest_end_[static_cast<std::size_t>(at - order_.begin())] <= v.start_ns) break;
      const HostTransfer& other = transfers_[*at];
      if (*at == victim || other.end_ns <= v.start_ns) continue;
      if (const auto shared = shared_resource(v, other, paths_)) {
        rivals.push_back(
            {*at, *shared, 0, std::max(v.start_ns, other.start_ns), std::min(v.end_ns, other.end_ns)});
      }
    }
    return rivals;
  }

 private:
  std::span<const HostTransfer> transfers_;
  std::span<const LinkPath> paths_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> latest_end_;  ///< of those that begin up to here
};

/// Splits the time in which rivals run evenly among those that run; returns how much time that is.
double weigh(std::vector<Rival>& rivals) {
  std::vector<std::int64_t> times;
  for (const Rival& rival : rivals) times.insert(times.end(), {rival.begin_ns, rival.end_ns});
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  double all = 0;
  for (std::size_t k = 0; k + 1 < times.size(); ++k) {
    std::size_t running = 0;
    for (const Rival& rival : rivals) running += rival.begin_ns <= times[k] && times[k + 1] <= rival.end_ns;
    if (running == 0) continue;
    const auto time = static_cast<double>(times[k + 1] - times[k]);
    all += time;
    for (Rival& rival : rivals) {
      if (rival.begin_ns <= times[k] && times[k + 1] <= rival.end_ns)
        rival.weight_ns += time / static_cast<double>(running);
    }
  }
  return all;
}

}  // namespace

const char* cause_name(Cause cause) {
  switch (cause) {
    case Cause::kLink:
      return "link";
    case Cause::kCopyEngine:
      return "copy_engine";
    case Cause::kHostMemory:
      return "host_memory";
    case Cause::kLinkOrHost:
      return "link_or_host_memory";
    case Cause::kPageable:
      return "pageable";
    case Cause::kNuma:
      return "numa";
    case Cause::kCollective:
      return "collective";
    case Cause::kOtherProcess:
      return "other_process";
    case Cause::kUnexplained:
      break;
  }
  return "unexplained";
}

std::optional<Shared> shared_resource(const HostTransfer& a, const HostTransfer& b,
                                      std::span<const LinkPath> paths) {
  if ((a.way == Way::kPeer) != (b.way == Way::kPeer)) return std::nullopt;
  if (a.device == b.device) {
    const bool queued = a.way == b.way && a.process == b.process;
    return Shared{queued ? Cause::kCopyEngine : Cause::kLink, std::nullopt};
  }
  if (a.way == Way::kPeer) return std::nullopt;  // NVLink ports of their own, or not known
  const auto path = [&](std::int64_t device) {
    return std::find_if(paths.begin(), paths.end(),
                        [&](const LinkPath& one) { return one.device == device; });
  };
  const auto one = path(a.device), other = path(b.device);
  if (one == paths.end() || other == paths.end()) return Shared{Cause::kLinkOrHost, std::nullopt};
  for (const std::int64_t edge : one->edges) {
    if (std::find(other->edges.begin(), other->edges.end(), edge) != other->edges.end())
      return Shared{Cause::kLink, edge};
  }
  return Shared{Cause::kHostMemory, std::nullopt};
}

LostTime lost_time(std::span<const HostTransfer> transfers, std::span<const SoloTime> solo,
                   std::span<const LinkPath> paths, std::span<const double> foreign_bytes,
                   std::span<const double> collective_bytes) {
  const Overlaps overlaps(transfers, paths);
  LostTime result;
  result.lost_ns.resize(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!solo[i].ns) continue;
    const HostTransfer& victim = transfers[i];
    const double lost = victim.duration_ns() - *solo[i].ns;
    result.lost_ns[i] = lost > kNoise * *solo[i].ns ? lost : 0;
    double left = *result.lost_ns[i];
    if (left == 0) continue;
    std::vector<Rival> rivals = overlaps.of(i);
    const double together = weigh(rivals);
    const double taken = std::min(left, together);
    for (const Rival& rival : rivals) {
      result.losses.push_back({i, rival.transfer, rival.shared.cause, rival.shared.link, rival.begin_ns,
                               rival.end_ns, taken * rival.weight_ns / together});
    }
    left -= taken;
    if (left <= 0) continue;
    const bool foreign =
        i < foreign_bytes.size() && foreign_bytes[i] > kForeignShare * static_cast<double>(victim.bytes);
    const bool collective =
        foreign && i < collective_bytes.size() && collective_bytes[i] >= kMostOf * foreign_bytes[i];
    const Cause cause = victim.memory == HostMemory::kPageable ? Cause::kPageable
                        : victim.far                           ? Cause::kNuma
                        : collective                           ? Cause::kCollective
                        : foreign                              ? Cause::kOtherProcess
                                                               : Cause::kUnexplained;
    result.losses.push_back({i, std::nullopt, cause, std::nullopt, victim.start_ns, victim.end_ns, left});
  }
  return result;
}

}  // namespace tferry::analyzer
