#pragma once

#include "analyzer/planner/coordination.hpp"
#include "analyzer/session/stored_plan.hpp"
#include "cli/budget.hpp"
#include "cli/job/job_settings.hpp"
#include "cli/plan/plan_reference.hpp"
#include "cli/plan/watched_run.hpp"
#include "cli/report/run_summary.hpp"
#include "trace/copy_route.hpp"
#include "trace/session_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

class Environment;

/// A job that is to follow a plan: what it has to be run with, and the session of its own in which prediction
/// and outcome are kept. The session that the plan comes from is only read.
class PlannedRun {
 public:
  /// Opens the plan that the command line names; `by_rank`: with those of the other ranks. Throws Failure
  /// with the reason where it cannot be followed.
  explicit PlannedRun(const std::string& plan, bool by_rank = false);

  const std::string& name() const { return name_; }
  /// Bytes per GPU that the plan was made for.
  std::int64_t budget_bytes() const { return stored_.row.budget_bytes; }
  std::string describe() const;
  /// What it is for, where that is not each GPU's own link.
  std::string link() const;
  /// How ranks that all follow this plan do best on the links that they share, simulated.
  analyzer::Coordination best_coordination(const analyzer::RankLayout& layout) const;

  /// Sets chunk and movable size, and budget and route unless they were given. Throws Failure for settings
  /// under which the plan cannot be followed: a smaller budget, another chunk size, another policy. Returns
  /// what to warn of: a route that the plan is not for.
  std::string settle(JobSettings& settings, bool budget_given) const;

  /// Writes the plan for the runtime library into the run directory and tells the job of it. Throws Failure.
  void hand_over(const std::filesystem::path& run_directory, Environment& environment) const;

  /// Begins the run's session: the plan and its prediction, with its digest. Throws trace::SessionError.
  void keep_prediction(const std::filesystem::path& session, bool force);
  /// Once the session was begun: has the runtime record a few iterations under the plan into the run
  /// directory, with the times of operations, movements and waits.
  void watch(const std::filesystem::path& run_directory, Environment& environment) const;
  /// Adds what became of it, and what was recorded of it. Nothing happens where the session was not begun.
  /// Throws trace::SessionError.
  void keep_outcome(const RunSummary& summary, const std::filesystem::path& run_directory) const;
  const std::optional<std::filesystem::path>& session() const { return session_; }

 private:
  std::optional<trace::CopyRoute::Way> way_not_planned(const std::string& routes) const;
  std::vector<const analyzer::StoredPlan*> plans() const;
  std::int64_t insert_plan(trace::SessionWriter& writer, const analyzer::StoredPlan& stored,
                           trace::PlanRow plan) const;
  void keep_watched(trace::SessionWriter& writer, const DeviceSnapshot& counters,
                    const WatchedRun::Figures& figures) const;

  PlanReference reference_;
  analyzer::StoredPlan stored_;
  std::vector<analyzer::StoredPlan> others_;  ///< of the ranks after the first, where each has its own
  std::string name_;
  std::optional<std::filesystem::path> session_;
};

/// What a budget gives the GPU of that number; nothing where only the card tells.
std::optional<std::int64_t> budget_of(const Budget& budget, int device);

}  // namespace tferry::cli
