#pragma once

#include "analyzer/session/route_link.hpp"
#include "cli/console.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sys/types.h>

namespace tferry::cli {

class Environment;

/// A LivePlanner beside a job, in a process of its own, so that signals reach the job while plans are made.
/// From construction to destruction, and not longer than this process.
class LivePlannerProcess {
 public:
  /// Tells the job's hooks to record, up to a limit, and starts to watch. Where no process can be made the
  /// job runs without plans; `console` is told.
  LivePlannerProcess(const std::filesystem::path& run_directory, std::optional<std::int64_t> movable,
                     const analyzer::RouteFigures& routes, Environment& environment, const Console& console);
  ~LivePlannerProcess();
  LivePlannerProcess(const LivePlannerProcess&) = delete;
  LivePlannerProcess& operator=(const LivePlannerProcess&) = delete;

 private:
  pid_t pid_ = -1;
  int input_ = -1;  ///< closed: it ends
};

}  // namespace tferry::cli
