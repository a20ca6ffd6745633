// tferry-bench: makes and checks the files that every figure in README and docs comes from. Needs no GPU.
#include "benchmarks/tferry_bench/bound_check.hpp"
#include "benchmarks/tferry_bench/check.hpp"
#include "benchmarks/tferry_bench/exact_cases.hpp"
#include "benchmarks/tferry_bench/plan_speed.hpp"
#include "benchmarks/tferry_bench/planner_cells.hpp"
#include "benchmarks/tferry_bench/raw_file.hpp"
#include "benchmarks/tferry_bench/record.hpp"
#include "benchmarks/tferry_bench/repository.hpp"
#include "benchmarks/tferry_bench/scale_cells.hpp"
#include "benchmarks/tferry_bench/simulator_speed.hpp"
#include "benchmarks/tferry_bench/summary.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using tferry::benchmarks::Repository;

int run_check(const Repository& repository) {
  const auto problems = tferry::benchmarks::check(repository);
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (problems.empty()) {
    fmt::print("figures ok: {} results, {} targets, {} pages\n", repository.results.size(),
               repository.targets.size(), repository.pages.size());
    return 0;
  }
  fmt::print(stderr, "tferry-bench: {} problems with the figures\n", problems.size());
  return 1;
}

int run_record(const Repository& repository, const std::string& from, const std::string& git, bool missing) {
  if (from.empty() && !missing) throw std::runtime_error("record: say --from RAW.json or --missing");
  std::vector<tferry::benchmarks::Result> results;
  if (missing) results = tferry::benchmarks::missing_results(repository);
  if (!from.empty()) {
    try {
      for (auto& result : results_from_raw(tferry::benchmarks::read_json(from), repository, git))
        results.push_back(result);
    } catch (const tferry::benchmarks::BadResult& error) {
      throw std::runtime_error(from + ": " + error.what());
    }
  }
  for (const auto& result : results) {
    write_result(repository, result);
    fmt::print("{} {}\n", tferry::benchmarks::file_name(result.claim()), result.verdict());
  }
  return 0;
}

int run_summary(const Repository& repository, const std::string& markdown) {
  for (const std::string& problem : repository.problems) fmt::print(stderr, "tferry-bench: {}\n", problem);
  if (markdown.empty()) {
    fmt::print("{}", summary_table(repository));
    return 0;
  }
  std::ofstream out(markdown, std::ios::binary);
  out << summary_markdown(repository);
  out.close();
  if (!out) throw std::runtime_error(markdown + ": cannot be written");
  return 0;
}

struct BoundOptions {
  std::string session;
  std::vector<double> factors{1.33, 1.5, 2.0};
  std::size_t breakpoints = 100;
  int rounds = 0;
  std::string job;
  std::string raw;
};

int run_bound(const BoundOptions& options, const std::string& git) {
  const auto checks =
      tferry::benchmarks::check_bounds(options.session, options.factors, options.breakpoints, options.rounds);
  fmt::print("{:>6} {:>14} {:>10} {:>10} {:>7} {:>10} {:>9}\n", "factor", "budget, bytes", "bound, ms",
             "LP, ms", "LP over", "plan, ms", "over LP");
  for (const auto& check : checks) {
    fmt::print("{:>6} {:>14} {:>10.3f} ", check.factor, check.budget_bytes, check.bound_ns * 1e-6);
    if (check.fluid_ns == 0)
      fmt::print("unknown: built without CBC\n");
    else
      fmt::print("{:>10.3f} {:>7.4f} {:>10.3f} {:>9.4f}\n", check.fluid_ns * 1e-6,
                 check.fluid_ns / check.bound_ns, check.planned_ns * 1e-6, check.planned_ns / check.fluid_ns);
  }
  if (options.raw.empty()) return 0;
  std::string command = "tferry-bench bound " + std::filesystem::path(options.session).filename().string();
  command += fmt::format(" --breakpoints {} --job {}", options.breakpoints, options.job);
  if (options.rounds > 0) command += fmt::format(" --rounds {}", options.rounds);
  tferry::benchmarks::write_raw(
      tferry::benchmarks::raw_file("bound", git, bound_measurements(checks, options.job, command)),
      options.raw);
  return 0;
}

int run_planners(int rounds, const std::string& raw, const std::string& git) {
  using namespace tferry::benchmarks;
  const std::string load = load_text();
  const auto begin = std::chrono::steady_clock::now();
  const PlannerCells cells = run_planner_cells(
      core_jobs(), rounds, [](const std::string& cell) { fmt::print(stderr, "{}\n", cell); });
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  fmt::print("{}", cells_as_markdown(cells));
  fmt::print(stderr, "{:.1f} s ({} before)\n", took.count() * 1e-9, load);
  const std::string command = fmt::format("tferry-bench planners --core --rounds {}", rounds);
  if (raw.empty()) return 0;
  nlohmann::json found = cells_as_measurements(cells, command);
  found.push_back(duration_measurement(took.count(), command, load));
  write_raw(raw_file("planners", git, std::move(found)), raw);
  return 0;
}

int run_plan_speed(int repeats, const std::string& raw, const std::string& git) {
  using namespace tferry::benchmarks;
  const std::vector<PlanSpeed> speeds = plan_speeds(repeats);
  fmt::print("{}", plan_speed_text(speeds));
  const std::string command = fmt::format("tferry-bench planning --repeats {}", repeats);
  if (!raw.empty()) write_raw(raw_file("planning", git, plan_speed_measurements(speeds, command)), raw);
  return 0;
}

struct ScaleOptions {
  int rounds = 60;
  double spread = 0.03;
  std::string raw;
};

int run_scale(const ScaleOptions& options, const std::string& git) {
  using namespace tferry::benchmarks;
  const auto cells = run_scale_cells(options.rounds, options.spread,
                                     [](const std::string& cell) { fmt::print(stderr, "{}\n", cell); });
  fmt::print("{}", scale_as_markdown(cells));
  const std::string command =
      fmt::format("tferry-bench scale --rounds {} --spread {}", options.rounds, options.spread);
  if (!options.raw.empty())
    write_raw(raw_file("scale", git, scale_as_measurements(cells, command)), options.raw);
  return 0;
}

int run_simulator(int repeats, const std::string& raw, const std::string& git) {
  using namespace tferry::benchmarks;
  const std::vector<SimulatorSpeed> speeds = simulator_speeds(core_jobs(), repeats);
  fmt::print("{:<12} {:<10} {:>8} {:>17} {}\n", "job", "policy", "events", "events per second",
             "deterministic");
  for (const SimulatorSpeed& speed : speeds)
    fmt::print("{:<12} {:<10} {:>8} {:>17.0f} {}\n", speed.job, speed.policy, speed.events,
               static_cast<double>(speed.events) / speed.seconds, speed.same ? "yes" : "NO");
  const nlohmann::json found =
      speed_measurements(speeds, fmt::format("tferry-bench simulator --repeats {}", repeats));
  fmt::print("together {:.0f}\n", found[0]["subject"]["samples"][0].get<double>());
  if (!raw.empty()) write_raw(raw_file("simulator", git, found), raw);
  return 0;
}

struct ExactOptions {
  std::string cases;
  std::uint32_t make_from = 0;
  std::size_t count = 0;
  double seconds = 5;
  int rounds = 600;
  std::string raw;
};

int run_exact(const ExactOptions& options, const std::string& git) {
  using namespace tferry::benchmarks;
  if (options.count > 0) {
    make_cases(options.make_from, options.count, options.seconds,
               [](const ExactCase& one) { fmt::print("{} {}\n", one.seed, one.period); });
    return 0;
  }
  const std::string path = options.cases;
  const std::string command = fmt::format("tferry-bench exact {} --rounds {}",
                                          std::filesystem::path(path).filename().string(), options.rounds);
  const nlohmann::json found =
      exact_measurements(ratios_to_exact(read_cases(path), options.rounds, options.seconds), command);
  for (const nlohmann::json& one : found) {
    fmt::print("{} {:.4f}\n", one["claim"].get<std::string>(), one["subject"]["samples"][0].get<double>());
  }
  fmt::print("{}\n", found[0]["note"].get<std::string>());
  if (!options.raw.empty()) write_raw(raw_file("exact", git, found), options.raw);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Makes and checks the files that every figure in README and docs comes from");
  app.require_subcommand(1);
  std::string root = ".";
  app.add_option("--root", root, "The repository")->capture_default_str();
  app.add_subcommand(
      "check", "Recompute every median, interval and verdict; compare README and docs; exit 1 if wrong");
  auto* record = app.add_subcommand("record", "Make result files from a measuring script's raw file");
  std::string from;
  std::string git;
  bool missing = false;
  record->add_option("--from", from, "Raw file (schema tferry.raw/1)");
  record->add_option("--git", git, "Revision that was measured, where the raw file names none");
  record->add_flag("--missing", missing, "Write a file that says not_run for every target that has none");
  auto* summary = app.add_subcommand("summary", "Print all results");
  std::string markdown;
  summary->add_option("--markdown", markdown, "Write a page with markers there instead");
  auto* bound = app.add_subcommand(
      "bound", "Hold the bound of a recorded job against an independent linear program (needs CBC at build)");
  BoundOptions bound_options;
  bound
      ->add_option("session", bound_options.session,
                   "Session, workload (.json), or name of a modelled job: gpt2_bf16")
      ->required();
  bound->add_option("--oversubscribe", bound_options.factors, "Footprint over budget")->capture_default_str();
  bound
      ->add_option("--breakpoints", bound_options.breakpoints,
                   "Operations at which the program accounts memory")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  bound
      ->add_option("--rounds", bound_options.rounds,
                   "Also make a plan with so many simulations and hold it against the program")
      ->check(CLI::Range(0, 100'000));
  bound->add_option("--job", bound_options.job, "Name of the job in claims");
  bound->add_option("--raw", bound_options.raw, "Write a raw file for `record`")->needs("--job");
  bound->add_option("--git", git, "Revision of the repository, for the raw file");
  auto* planners =
      app.add_subcommand("planners", "Simulate all policies and ways to share a link on the core jobs");
  int planner_rounds = 60;
  std::string planner_raw;
  bool core = false;
  planners
      ->add_flag("--core", core, "GPT-2 in fp32 and bf16 and a wide model, modelled: minutes on two cores")
      ->required();
  planners->add_option("--rounds", planner_rounds, "Simulations that the planner may spend on a plan")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  planners->add_option("--raw", planner_raw, "Write a raw file for `record`");
  planners->add_option("--git", git, "Revision of the repository, for the raw file");
  auto* scale = app.add_subcommand("scale", "Simulate turns on links of 4 and 8 GPUs and of up to 64 hosts");
  ScaleOptions scale_options;
  scale->add_option("--rounds", scale_options.rounds, "Simulations that the planner may spend on a plan")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  scale->add_option("--spread", scale_options.spread, "By how much ranks differ in speed, at most")
      ->check(CLI::Range(0.0, 0.5))
      ->capture_default_str();
  scale->add_option("--raw", scale_options.raw, "Write a raw file for `record`");
  scale->add_option("--git", git, "Revision of the repository, for the raw file");
  auto* simulator =
      app.add_subcommand("simulator", "Events that the simulator handles in a second of one core");
  int repeats = 20;
  std::string simulator_raw;
  simulator->add_option("--repeats", repeats, "Of each simulation; the fastest counts")
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  simulator->add_option("--raw", simulator_raw, "Write a raw file for `record`");
  simulator->add_option("--git", git, "Revision of the repository, for the raw file");
  auto* planning = app.add_subcommand("planning", "Time that a plan of 10,000 operations takes");
  int plan_repeats = 7;
  std::string planning_raw;
  planning->add_option("--repeats", plan_repeats, "Of each plan; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  planning->add_option("--raw", planning_raw, "Write a raw file for `record`");
  planning->add_option("--git", git, "Revision of the repository, for the raw file");
  auto* exact = app.add_subcommand("exact", "Hold the planner against an exact solver on small jobs");
  ExactOptions exact_options;
  auto* cases =
      exact->add_option("cases", exact_options.cases, "File of cases (analyzer/exact/slot_cases.txt)")
          ->check(CLI::ExistingFile);
  exact->add_option("--make", exact_options.count, "Print so many new cases instead (needs CBC at build)")
      ->excludes(cases);
  exact->add_option("--from", exact_options.make_from, "First seed of new cases");
  exact->add_option("--seconds", exact_options.seconds, "For each step of the solver")->capture_default_str();
  exact->add_option("--rounds", exact_options.rounds, "Simulations that the planner may spend on a case")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  exact->add_option("--raw", exact_options.raw, "Write a raw file for `record`");
  exact->add_option("--git", git, "Revision of the repository, for the raw file");
  CLI11_PARSE(app, argc, argv);
  try {
    if (*bound) return run_bound(bound_options, git);
    if (*planners) return run_planners(planner_rounds, planner_raw, git);
    if (*scale) return run_scale(scale_options, git);
    if (*simulator) return run_simulator(repeats, simulator_raw, git);
    if (*planning) return run_plan_speed(plan_repeats, planning_raw, git);
    if (*exact) return run_exact(exact_options, git);
    const Repository repository = tferry::benchmarks::read_repository(root);
    if (*record) return run_record(repository, from, git, missing);
    if (*summary) return run_summary(repository, markdown);
    return run_check(repository);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tferry-bench: {}\n", error.what());
    return 1;
  }
}
