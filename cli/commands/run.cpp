#include "cli/commands/run.hpp"

#include "cli/calibration/machine_routes.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/job_settings.hpp"
#include "cli/job/launcher.hpp"
#include "cli/job/output_pattern.hpp"
#include "cli/job/rank_coordination.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/live/live_planner_process.hpp"
#include "cli/output_file.hpp"
#include "cli/plan/planned_run.hpp"
#include "cli/report/run_summary.hpp"
#include "trace/session_error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace tferry::cli {
CLI::App* RunCommand::add_to(CLI::App& program) {
  app_ = program.add_subcommand("run", "Run a program under a budget of GPU memory");
  app_->footer(
      "The program and its arguments follow the options: tferry run [OPTIONS] [--] PROGRAM [ARGUMENTS...]");
  app_->add_option("--plan", plan_, "Follow this plan: a session, and behind a colon the plan's number")
      ->type_name("SESSION[:N]");
  app_->add_flag("--no-live-plan", no_live_plan_,
                 "Make no plan from the job's first iterations while it runs");
  app_->add_option("-o,--output", output_,
                   "The session that keeps prediction, outcome and a few watched iterations of a run under a "
                   "plan; %h, %p, %q{NAME} (default: NAME.N.tferry here)")
      ->type_name("FILE");
  options_.add_to(*app_);
  options_.add_ways_to(*app_);
  coordination_.add_to(*app_);
  common_.add_to(*app_, "what happened");
  return app_;
}

void RunCommand::begin_session(PlannedRun& planned, const Environment& environment,
                               const Console& console) const {
  const std::filesystem::path path = output_.empty()
                                         ? next_session_path(".", recording_name(job_)).lexically_normal()
                                         : std::filesystem::path(expand_output_pattern(output_, environment));
  try {
    planned.keep_prediction(path, common_.force && !output_.empty());
  } catch (const trace::SessionError& error) {
    if (!output_.empty()) throw;
    console.warning(fmt::format("prediction and outcome are not kept: {}", error.what()));
  }
}

bool RunCommand::plans_itself(const JobSettings& settings) const {
  return !no_live_plan_ && plan_.empty() && settings.policy.empty() && settings.memory == "explicit" &&
         settings.budget.kind() != Budget::Kind::kUnlimited;
}

JobEnd RunCommand::run() const {
  const Console console(common_.verbosity());
  JobSettings checked = options_.settings(common_);
  if (options_.policy == "lookahead" && no_live_plan_ && plan_.empty())
    throw Failure("--policy lookahead needs a plan, and --no-live-plan makes none",
                  "add --plan SESSION, or leave --no-live-plan out");
  const bool budget_given = app_->count("--budget") > 0;
  std::optional<PlannedRun> planned;
  if (app_->count("--plan") > 0) {
    planned.emplace(plan_, coordination_.mode == "interleave");
    const std::string warning = planned->settle(checked, budget_given);
    if (!warning.empty()) console.warning(warning);
  } else if (!output_.empty()) {
    throw Failure("--output is about runs under a plan", "add --plan SESSION, or leave it out");
  }
  const CoordinationSettings sharing = coordination_.settings(planned ? &*planned : nullptr);
  if (sharing.mode != CoordinationSettings::Mode::kOff && checked.memory == "managed")
    throw Failure("--coordinate is about our own copies, and managed memory is moved by the driver",
                  "leave one of them out");
  Environment environment(environ);
  const JobCommand job = find_job(job_, environment);
  const auto library = Installation::of_this_program().runtime_library();
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);

  const RunDirectory directory(RunDirectory::usual_places());
  const std::string allocator = apply_settings(checked, library, directory.path(), environment);
  const RankCoordination ranks(sharing, directory.path(), RunDirectory::usual_places(), environment);
  if (!ranks.warning().empty()) console.warning(ranks.warning());
  if (!ranks.describe().empty()) console.notice("ranks: " + ranks.describe());
  if (planned) {
    planned->hand_over(directory.path(), environment);
    console.notice("plan: " + planned->describe());
    begin_session(*planned, environment, console);
    planned->watch(directory.path(), environment);
  }
  std::optional<LivePlannerProcess> planner;
  if (plans_itself(checked)) {
    const analyzer::RouteFigures routes =
        checked.route.empty() ? analyzer::RouteFigures{} : routes_of_this_machine(environment);
    planner.emplace(directory.path(), checked.movable, routes, environment, console);
  }
  console.notice(fmt::format("budget: {}{}; {}", checked.budget.describe(),
                             budget_given ? ""
                             : planned    ? " (the plan's)"
                                          : " (the default)",
                             allocator));
  console.notice(describe_changes(environment));
  console.detail(list_changes(environment));

  const JobEnd end = run_job(job, environment);
  planner.reset();
  const std::string program = std::filesystem::path(job.arguments.front()).filename().string();
  RunSummary summary =
      summarise_run(directory.path(), program, checked.budget.to_environment(), end, environment.changes());
  if (planned) {
    summary.plan = planned->name();
    summary.plan_link = planned->link();
  }
  console.notice(to_text(summary));
  if (planned) {
    try {
      planned->keep_outcome(summary, directory.path());
      if (planned->session())
        console.notice(fmt::format("session: {0}; next: tferry view {0}", planned->session()->string()));
    } catch (const std::exception& error) {  // the job's own end is what counts
      console.warning(fmt::format("the outcome is not kept: {}", error.what()));
    }
  }
  if (json) {
    try {
      json->publish(to_json(summary));
    } catch (const Failure& failure) {
      console.failure(failure);  // the job's own end is what counts
    }
  }
  return end;
}

int RunCommand::execute() const {
  const JobEnd end = run();  // by now the run directory is gone
  return repeat_end(end);
}

}  // namespace tferry::cli
