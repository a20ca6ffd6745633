#include "cli/plan/exec_planner.hpp"

#include "analyzer/planner/plan_json.hpp"
#include "analyzer/workload/json.hpp"
#include "cli/failure.hpp"
#include "cli/job/captured_program.hpp"
#include "cli/job/program_path.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

namespace tferry::cli {
namespace {

constexpr const char* kSeeAbove = "see what it wrote above; docs/plan.md has an example that plans";

/// What the program printed. Throws Failure where it did not end well.
std::string output_of(CapturedRun run, const std::string& name, std::chrono::milliseconds limit) {
  if (!run.started)
    throw Failure(name + ": no process can be made",
                  "check the limit of processes (ulimit -u) and free memory");
  if (!run.in_time)
    throw Failure(fmt::format("{} did not end within {} s", name, static_cast<double>(limit.count()) / 1e3),
                  "give it longer with --planner-limit, or make it faster");
  if (!run.complete) throw Failure(name + " printed more than 64 MiB", "print the plan alone, as JSON");
  if (run.signal != 0)
    throw Failure(fmt::format("{} was ended by signal {} ({})", name, run.signal, ::strsignal(run.signal)),
                  kSeeAbove);
  if (run.exit_code == kNotFound)
    throw Failure(name + " ended with exit status 127", "check its first line (#!...), and what it calls");
  if (run.exit_code != 0)
    throw Failure(fmt::format("{} ended with exit status {}", name, run.exit_code), kSeeAbove);
  if (run.output.empty()) throw Failure(name + " printed nothing", "print the plan on standard output");
  return std::move(run.output);
}

}  // namespace

void require_sound(const std::vector<std::string>& errors, const std::string& whose) {
  constexpr std::size_t kShown = 20;
  if (errors.empty()) return;
  const std::span shown(errors.data(), std::min(errors.size(), kShown));
  throw Failure(fmt::format("{} cannot be followed: {} {}\n{}{}", whose, errors.size(),
                            errors.size() == 1 ? "fault" : "faults", fmt::join(shown, "\n"),
                            errors.size() > kShown ? "\n..." : ""),
                "mend it; docs/plan.md tells what each entry means");
}

analyzer::Planner exec_planner(const std::string& program, std::chrono::milliseconds limit) {
  const char* search_path = std::getenv("PATH");
  const std::string file = resolve_program(program, search_path == nullptr ? "" : search_path);
  const std::string name = "exec:" + std::filesystem::path(program).filename().string();
  return [file, name, limit](const analyzer::Workload& workload) {
    const std::string text = output_of(run_captured({file}, limit, analyzer::to_json(workload)), name, limit);
    analyzer::PlanText read = analyzer::read_plan(text, workload);
    require_sound(read.errors, "the plan of " + name);
    read.plan.planner = name;
    return std::move(read.plan);
  };
}

}  // namespace tferry::cli
