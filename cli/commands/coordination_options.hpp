#pragma once

#include "cli/job/rank_coordination.hpp"

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace tferry::cli {

/// How the ranks of a job share links, as it stands on the command line of `tferry run`.
struct CoordinationOptions {
  std::string mode = "off";
  std::string order = "auto";
  std::string topology, slot;
  double lease_ms = static_cast<double>(trace::SlotSegment::kDefaultLease) / 1e6;
  int synchronise = 1;

  void add_to(CLI::App& command);
  /// Checked. `oversubscription`: of the plan, where one is known. Throws Failure.
  CoordinationSettings settings(std::optional<double> oversubscription) const;
};

}  // namespace tferry::cli
