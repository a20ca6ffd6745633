#pragma once

#include "analyzer/contention/host_transfer.hpp"
#include "analyzer/contention/intervals.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace tferry::analyzer {

/// Bytes that a GPU's PCIe counter saw in an interval.
struct TrafficSample {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  double bytes = 0;
};
using Traffic = std::map<std::pair<std::int64_t, Way>, std::vector<TrafficSample>>;  ///< by device and way

/// What the counters see of a copy beside its bytes: packet heads the same way, and requests the other way
/// (an H100 counts 58.1 GB/s during a copy of 55, and 3.5 GB/s against it).
inline constexpr double kWireShare = 1.056;
inline constexpr double kReturnShare = 0.064;
/// Beyond this the counters saw more than the copies explain.
inline constexpr double kTrafficTolerance = 1.1;

/// Traffic of one GPU in one direction.
struct LinkTraffic {
  double counted_bytes = 0;      ///< by the counters
  double expected_bytes = 0;     ///< what the recorded transfers cost on the wire while there were samples
  double unexplained_bytes = 0;  ///< counted beyond what they explain, sample by sample
};

/// When kernels of collectives ran, by device; disjoint, in order.
using Collectives = std::map<std::int64_t, std::vector<Interval>>;

/// Compares counters and transfers. `foreign_bytes[i]` is the unexplained traffic of the same GPU and way
/// while transfer i ran, `collective_bytes[i]` the part of it that kernels of collectives on that GPU can
/// have moved: they read and write host memory where GPUs cannot reach each other. While they ran they are
/// taken to have moved all that is unexplained, up to the highest rate in the series. Samples of one series
/// must not overlap. Linear in samples and overlaps. Pure.
struct TrafficCheck {
  std::map<std::pair<std::int64_t, Way>, LinkTraffic> links;
  std::vector<double> foreign_bytes;
  std::vector<double> collective_bytes;
};
TrafficCheck check_traffic(std::span<const HostTransfer> transfers, const Traffic& traffic,
                           const Collectives& collectives = {});

}  // namespace tferry::analyzer
