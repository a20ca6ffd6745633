#pragma once

#include "analyzer/contention/lost_time.hpp"
#include "analyzer/contention/windows.hpp"
#include "trace/session.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::analyzer {

/// Row that a transfer was read from.
struct TransferSource {
  std::optional<std::int64_t> memcpy_id;  ///< empty: a migration of managed memory
  bool of_runtime = false;                ///< one of the runtime's own copies
};

/// Every transfer of a session, and what it lost; see docs/contention.md.
struct ContentionAnalysis {
  std::vector<HostTransfer> transfers;
  std::vector<TransferSource> sources;
  std::vector<LinkPath> paths;
  std::vector<SoloTime> solo;
  LostTime lost;
  std::vector<double> exposed_ns;  ///< of each transfer: no kernel of its GPU ran
  std::vector<ContentionWindow> windows;
  std::vector<QueueWait> waits;
  std::vector<std::string> unknown;  ///< what cannot be said, and the command that settles it
};

/// Reads all processes' transfers with times, and works out solo times, losses and exposure. `assumed`: rates
/// that the user gave, which win over calibrated and learned ones. Throws trace::SessionError.
ContentionAnalysis analyze_contention(trace::Session& session, const SoloRates& assumed);

/// Replaces tables `transfer` and `contention`. Iterations are those that the session has when this is
/// called. Throws trace::SessionError.
void store_contention(trace::SessionWriter& writer, const ContentionAnalysis& analysis);

}  // namespace tferry::analyzer
