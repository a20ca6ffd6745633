#pragma once

#include "analyzer/contention/intervals.hpp"
#include "analyzer/contention/traffic.hpp"
#include "analyzer/session/contention_analysis.hpp"

#include <map>

namespace tferry::analyzer {

/// What contention is worked out from.
struct RecordedTraffic {
  std::vector<HostTransfer> transfers;
  std::vector<TransferSource> sources;
  std::vector<LinkPath> paths;
  std::map<std::int64_t, std::vector<Interval>> computing;  ///< by device: when kernels ran, united
  Collectives collectives;
  std::map<std::int64_t, SoloRates> calibrated;  ///< by device
  Traffic counters;
  std::int64_t untimed = 0;  ///< copies to or from the host without times
};
RecordedTraffic read_transfers(trace::Session& session);

/// Which counter is which way, by its name; nothing for others.
std::optional<Way> counter_way(const std::string& name);

}  // namespace tferry::analyzer
