#pragma once

#include "analyzer/live/live_recording.hpp"
#include "analyzer/session/route_link.hpp"
#include "cli/console.hpp"
#include "trace/spool_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

namespace tferry::cli {

/// Plans for the processes of a job while they run: reads what their hooks record into the run directory, and
/// once a process that does not fit its budget repeats itself, leaves a plan there as `plan.PID`, which the
/// runtime library takes over at the end of an iteration. A job that leaves its plan for good gets another
/// one, at most three in all; one that was faster without does not. Whatever goes wrong costs the plan only.
/// One thread.
class LivePlanner {
 public:
  /// `movable`: of allocations that can move, as the job was told; unset: the runtime's own choice. `routes`:
  /// what is known of ways by a neighbour's link.
  LivePlanner(std::filesystem::path run_directory, std::optional<std::int64_t> movable,
              analyzer::RouteFigures routes, const Console& console)
      : directory_(std::move(run_directory)), movable_(movable), routes_(routes), console_(console) {}

  /// Looks once at all processes there are by now.
  void look();

 private:
  struct Job {
    std::unique_ptr<trace::SpoolReader> spool;
    analyzer::LiveRecording recording;
    std::size_t looked_at = 0;  ///< operations at the last attempt
    int plans = 0;
    bool done = false;
  };

  void look_at(int pid, Job& job);
  bool found_costly(int pid, const Job& job) const;
  bool due(int pid, const Job& job) const;
  void plan(int pid, Job& job);

  std::filesystem::path directory_;
  std::optional<std::int64_t> movable_;
  analyzer::RouteFigures routes_;
  const Console& console_;
  std::map<int, Job> jobs_;
};

}  // namespace tferry::cli
