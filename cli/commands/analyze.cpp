#include "cli/commands/analyze.hpp"

#include "analyzer/session/contention_analysis.hpp"
#include "cli/byte_size.hpp"
#include "cli/calibration/calibration_files.hpp"
#include "cli/commands/link_options.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/job_settings.hpp"
#include "cli/plan/exec_planner.hpp"
#include "cli/plan/rank_plans.hpp"
#include "cli/report/reports.hpp"
#include "cli/report/what_if_tables.hpp"
#include "cli/session/choose_session.hpp"
#include "cli/session/store_analysis.hpp"
#include "trace/copy_route.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <future>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr int kMostRanksOnALink = 16;
constexpr std::string_view kExec = "exec:";

/// With --oversubscribe, a session that has a footprint nowhere has no answer.
void require_footprint(const std::vector<analyzer::RankAnalysis>& ranks, const std::string& session) {
  std::vector<std::string> reasons;
  for (const analyzer::RankAnalysis& rank : ranks) {
    if (rank.typical && rank.typical->footprint_bytes > 0) return;
    reasons.insert(reasons.end(), rank.unknown.begin(), rank.unknown.end());
  }
  if (ranks.empty()) reasons.emplace_back("no GPU operation was recorded");
  throw Failure(
      fmt::format("--oversubscribe: no footprint is known in {}: {}", session, fmt::join(reasons, "; ")),
      "give the budget in bytes with --budget, or record the job anew without --no-preload");
}

/// Whoever asks for a planner of their own wants its plan, or the reason why there is none.
void require_plans(const std::vector<analyzer::RankAnalysis>& ranks, const std::string& planner) {
  const bool any = std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.placed; });
  std::vector<std::string> reasons;
  for (const analyzer::RankAnalysis& rank : ranks) {
    const bool missing = !rank.placed && (rank.bound || !any);
    if (missing) reasons.insert(reasons.end(), rank.unknown.begin(), rank.unknown.end());
  }
  if (ranks.empty()) reasons.emplace_back("no GPU operation was recorded");
  if (!reasons.empty())
    throw Failure(fmt::format("no plan of {}: {}", planner, fmt::join(reasons, "; ")),
                  "tferry analyze without --planner tells what is known");
}

}  // namespace

CLI::App* AnalyzeCommand::add_to(CLI::App& program) {
  app_ = program.add_subcommand("analyze",
                                "Find iterations, tensors, the bound and simulated times of a session");
  app_->footer(
      "Without a session: the newest *.tferry in this folder. The analysis is stored in the session.");
  app_->add_option("SESSION", session_, "The session")->type_name("SESSION");
  auto* budget =
      app_->add_option("--budget", budget_, "GPU memory for the program, per GPU")->type_name("SIZE");
  app_->add_option("--oversubscribe", oversubscribe_, "Footprint over budget, such as 1.5")
      ->type_name("FACTOR")
      ->excludes(budget);
  app_->add_option("--route", route_,
                   "By which links contents will move, as tferry run --route: direct (auto), neighbour, both")
      ->check(CLI::IsMember({"auto", "direct", "neighbour", "both"}))
      ->capture_default_str();
  app_->add_option("--link", link_,
                   "Rates of the link, or of what --route goes by, instead of those known: "
                   "h2d=55.3GB/s,d2h=55.3GB/s,duplex=92GB/s")
      ->type_name("RATES");
  app_->add_option(
          "--assume-solo", assume_solo_,
          "Rates of copies that nothing disturbs, where the session knows none: h2d=55.3GB/s,d2h=55.3GB/s")
      ->type_name("RATES");
  app_->add_option("-o,--output", output_,
                   "Store the analyzed session in this file, and leave the other as it is")
      ->type_name("FILE");
  app_->add_flag("--curve", curve_, "Also the time of an iteration by budget");
  app_->add_option("--explain", explain_,
                   "Also what the plan does with this tensor, and what the opposite would cost")
      ->type_name("TENSOR");
  app_->add_option("--what-if", what_if_,
                   "Also simulate several GPUs that do the same: gpus=8,link=gen4x16,shared=2,sync=4 (GPUs "
                   "on each link, "
                   "iterations between synchronisations)")
      ->type_name("CASE");
  app_->add_option(
          "--ranks-share", ranks_share_,
          "Also plans for this many ranks on a link that move different tensors, for tferry run --coordinate "
          "interleave")
      ->type_name("N");
  app_->add_flag("--no-plan", no_plan_, "Make no plan");
  app_->add_option(
          "--planner", planner_,
          "Who plans: lookahead, or exec:PROGRAM, which reads a workload from its standard input and writes "
          "a plan to its standard output, both JSON, and is judged as ours (docs/plan.md)")
      ->type_name("PLANNER")
      ->capture_default_str();
  app_->add_option("--planner-limit", planner_limit_, "How long PROGRAM may take for a plan")
      ->type_name("TIME")
      ->capture_default_str();
  app_->add_option("--effort", effort_,
                   "What lookahead may spend on a plan: fast, normal, high (10 searches), or a number of "
                   "searches; more is never predicted to be slower")
      ->type_name("EFFORT")
      ->capture_default_str();
  app_->add_option("--chunk", chunk_, "Count memory in pieces of this size, as a run with that --chunk does")
      ->type_name("SIZE");
  app_->add_option("--movable", movable_,
                   "Allocations from this size on can move, as in a run with that --movable")
      ->type_name("SIZE");
  answer_.add_to(*app_);
  common_.add_to(*app_, "the analysis");
  return app_;
}

analyzer::AnalysisOptions AnalyzeCommand::options() const {
  analyzer::AnalysisOptions options;
  if (!budget_.empty()) {
    options.budget_bytes = parse_bytes(budget_, "--budget");
    if (*options.budget_bytes <= 0)
      throw Failure("--budget: nothing fits 0 bytes", "write a size, such as 9.8GiB");
  }
  if (app_->count("--oversubscribe") > 0) {
    if (!(oversubscribe_ > 0) || !std::isfinite(oversubscribe_)) {
      throw Failure(fmt::format("--oversubscribe: {} is no factor", oversubscribe_), "write 1.5");
    }
    options.oversubscription = oversubscribe_;
  }
  options.route = trace::parse_copy_route(route_, 0).value_or(trace::CopyRoute{}).way;
  options.calibration = [](const std::string& uuid) {
    return find_calibration(calibration_folder(Environment(environ)), uuid);
  };
  if (!link_.empty()) options.link = parse_link(link_);
  if (!what_if_.empty() && options.route != trace::CopyRoute::Way::kDirect)
    throw Failure("--what-if is about GPUs that all swap, and --route takes a neighbour to be idle",
                  "leave one of them out");
  options.plan = !no_plan_;
  if (app_->count("--ranks-share") > 0) {
    if (ranks_share_ < 2 || ranks_share_ > kMostRanksOnALink)
      throw Failure(fmt::format("--ranks-share: {} is no number of ranks that share a link", ranks_share_),
                    "write 2");
    if (no_plan_ || (!options.budget_bytes && !options.oversubscription))
      throw Failure("--ranks-share is about plans", "give --budget or --oversubscribe, without --no-plan");
  }
  options.chunk_bytes = chunk_.empty() ? 0 : parse_chunk(chunk_);
  options.movable_bytes = movable_.empty() ? 0 : parse_bytes(movable_, "--movable");
  options.effort = effort();
  options.other_planner = other_planner();
  if (options.other_planner && (no_plan_ || (!options.budget_bytes && !options.oversubscription)))
    throw Failure("--planner is about plans", "give --budget or --oversubscribe, without --no-plan");
  if (options.other_planner && ranks_share_ > 0)
    throw Failure("--ranks-share makes its plans by lookahead", "leave --planner or --ranks-share out");
  return options;
}

analyzer::Planner AnalyzeCommand::other_planner() const {
  if (planner_ == "lookahead") return {};
  if (!planner_.starts_with(kExec) || planner_.size() == kExec.size())
    throw Failure(fmt::format("--planner: there is no planner {}", planner_),
                  "write lookahead, or exec:./mine");
  const std::chrono::nanoseconds limit(parse_duration(planner_limit_, "--planner-limit"));
  return exec_planner(planner_.substr(kExec.size()),
                      std::chrono::duration_cast<std::chrono::milliseconds>(limit));
}

analyzer::Effort AnalyzeCommand::effort() const {
  if (app_->count("--effort") > 0 && planner_ != "lookahead")
    throw Failure("--effort is about plans by lookahead", "leave --planner or --effort out");
  if (effort_ == "fast") return analyzer::Effort::fast();
  if (effort_ == "normal") return analyzer::Effort::normal();
  if (effort_ == "high") return analyzer::Effort::high();
  int searches = 0;
  const char* const end = effort_.data() + effort_.size();
  const auto [stop, error] = std::from_chars(effort_.data(), end, searches);
  const bool known = error == std::errc{} && stop == end && searches >= 1;
  if (!known || searches > analyzer::Effort::kMostSearches)
    throw Failure(fmt::format("--effort: {} is neither a name nor a number from 1 to {}", effort_,
                              analyzer::Effort::kMostSearches),
                  "write fast, normal, high or a number of searches, such as 30");
  return {analyzer::Slacks::kAll, searches};
}

void AnalyzeCommand::add_asked_for(const std::vector<analyzer::RankAnalysis>& ranks,
                                   std::vector<Table>& tables) const {
  if (curve_) tables.push_back(curve_table(ranks));
  if (!explain_.empty()) tables.push_back(explain_table(ranks, explain_));
  if (!what_if_.empty()) tables.push_back(what_if_table(ranks, parse_what_if(what_if_)));
}

int AnalyzeCommand::execute() const {
  const Console console(common_.verbosity());
  const analyzer::AnalysisOptions checked = options();
  if (!what_if_.empty()) parse_what_if(what_if_);  // refused before anything is done
  const SessionChoice choice = choose_session(session_);
  const std::string path = choice.path.string();
  if (choice.chosen_for_you) console.notice(fmt::format("session: {} (the newest here)", path));
  const analyzer::SoloRates solo =
      assume_solo_.empty() ? analyzer::SoloRates{} : parse_solo_rates(assume_solo_);
  // On a thread of its own, but not beside a planner that has to be started.
  auto contended =
      std::async(checked.other_planner ? std::launch::deferred : std::launch::async, [&path, &solo] {
        trace::Session session = trace::Session::open(path);
        return analyzer::analyze_contention(session, solo);
      });
  std::vector<analyzer::RankAnalysis> ranks;
  {
    trace::Session session = trace::Session::open(path);
    ranks = analyzer::analyze_session(session, checked);
  }
  const analyzer::ContentionAnalysis contention = contended.get();
  if (checked.oversubscription) require_footprint(ranks, path);
  if (checked.other_planner) require_plans(ranks, planner_);
  const std::filesystem::path target = output_.empty() ? choice.path : std::filesystem::path(output_);
  store_analysis(ranks, &contention, choice.path, target, output_.empty() || common_.force);
  std::vector<Table> shared;
  if (ranks_share_ > 0)
    shared.push_back(store_rank_plans(ranks, static_cast<std::size_t>(ranks_share_), target));
  trace::Session analyzed = trace::Session::open(target.string());
  const Scope scope(analyzed, {});
  std::vector<Table> tables = report_analysis(scope);
  const bool planned = std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) { return rank.placed; });
  if (planned) {
    for (Table& table : report_plan(scope)) tables.push_back(std::move(table));
  }
  for (Table& table : shared) tables.push_back(std::move(table));
  add_asked_for(ranks, tables);
  answer_.answer(tables, target.string(), common_);
  console.notice(
      planned
          ? fmt::format("stored in {0}; next: tferry run --plan {0} PROGRAM ARGUMENTS...", target.string())
          : fmt::format("stored in {0}; next: tferry report summary tensors memory contention {0}",
                        target.string()));
  return kOk;
}

}  // namespace tferry::cli
