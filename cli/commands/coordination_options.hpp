#pragma once

#include "cli/job/rank_coordination.hpp"

#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

class PlannedRun;

/// How the ranks of a job share links, as it stands on the command line of `tferry run`.
struct CoordinationOptions {
  std::string mode = "off";
  std::string order = "auto";
  std::string topology, slot;
  double lease_ms = static_cast<double>(trace::SlotSegment::kDefaultLease) / 1e6;
  int synchronise = 1;

  void add_to(CLI::App& command);
  /// Checked. `planned`: null where there is no plan to simulate. Throws Failure.
  CoordinationSettings settings(const PlannedRun* planned) const;
};

}  // namespace tferry::cli
