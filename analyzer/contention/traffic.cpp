#include "analyzer/contention/traffic.hpp"

#include <algorithm>

namespace tferry::analyzer {
namespace {

/// Calls `visit(sample index, share of the transfer)` for the samples that a transfer overlaps.
template <typename Visit>
void for_each_sample(const std::vector<TrafficSample>& samples, const HostTransfer& transfer, Visit&& visit) {
  auto at = std::upper_bound(samples.begin(), samples.end(), transfer.start_ns,
                             [](std::int64_t time, const TrafficSample& one) { return time < one.end_ns; });
  for (; at != samples.end() && at->begin_ns < transfer.end_ns; ++at) {
    const std::int64_t time =
        std::min(at->end_ns, transfer.end_ns) - std::max(at->begin_ns, transfer.start_ns);
    if (time > 0) {
      visit(static_cast<std::size_t>(at - samples.begin()),
            static_cast<double>(time) / transfer.duration_ns());
    }
  }
}

double share_on_wire(const HostTransfer& transfer, Way way) {
  if (transfer.way == Way::kPeer) return 0;
  return transfer.way == way ? kWireShare : kReturnShare;
}

/// Of what each sample holds beyond the transfers, the part that collectives can have moved.
std::vector<double> moved_by_collectives(const std::vector<TrafficSample>& samples,
                                         const std::vector<double>& excess,
                                         const std::vector<Interval>& collectives) {
  double most = 0;
  for (const TrafficSample& sample : samples)
    most = std::max(most, sample.bytes / static_cast<double>(sample.end_ns - sample.begin_ns));
  std::vector<double> moved;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    const auto ran = static_cast<double>(overlap(collectives, samples[k].begin_ns, samples[k].end_ns));
    moved.push_back(std::min(excess[k], most * ran));
  }
  return moved;
}

}  // namespace

TrafficCheck check_traffic(std::span<const HostTransfer> transfers, const Traffic& traffic,
                           const Collectives& collectives) {
  TrafficCheck check;
  check.foreign_bytes.assign(transfers.size(), 0);
  check.collective_bytes.assign(transfers.size(), 0);
  for (const auto& [key, samples] : traffic) {
    const auto [device, way] = key;
    std::vector<double> expected(samples.size());
    for (const HostTransfer& transfer : transfers) {
      const double wire = share_on_wire(transfer, way) * static_cast<double>(transfer.bytes);
      if (transfer.device != device || wire == 0) continue;
      for_each_sample(samples, transfer,
                      [&, wire](std::size_t k, double share) { expected[k] += wire * share; });
    }
    LinkTraffic& link = check.links[key];
    std::vector<double> excess(samples.size());
    for (std::size_t k = 0; k < samples.size(); ++k) {
      link.counted_bytes += samples[k].bytes;
      link.expected_bytes += expected[k];
      excess[k] = std::max(0.0, samples[k].bytes - kTrafficTolerance * expected[k]);
      link.unexplained_bytes += excess[k];
    }
    const auto ran = collectives.find(device);
    const std::vector<double> collective = ran == collectives.end()
                                               ? std::vector<double>(samples.size())
                                               : moved_by_collectives(samples, excess, ran->second);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (transfers[i].device != device || transfers[i].way != way) continue;
      for_each_sample(samples, transfers[i], [&](std::size_t k, double share) {
        const auto length = static_cast<double>(samples[k].end_ns - samples[k].begin_ns);
        check.foreign_bytes[i] += excess[k] * share * transfers[i].duration_ns() / length;
        check.collective_bytes[i] += collective[k] * share * transfers[i].duration_ns() / length;
      });
    }
  }
  return check;
}

}  // namespace tferry::analyzer
