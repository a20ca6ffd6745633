#include "cli/commands/run.hpp"

#include "cli/byte_size.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/job_settings.hpp"
#include "cli/job/launcher.hpp"
#include "cli/job/program_path.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/output_file.hpp"
#include "cli/report/run_summary.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::optional<std::int64_t> optional_bytes(const std::string& text, std::string_view option) {
  return text.empty() ? std::nullopt : std::optional(parse_bytes(text, option));
}

}  // namespace

CLI::App* RunCommand::add_to(CLI::App& program) {
  app_ = program.add_subcommand("run", "Run a program under a budget of GPU memory");
  app_->footer(
      "The program and its arguments follow the options: tferry run [OPTIONS] [--] PROGRAM [ARGUMENTS...]");
  app_->add_option("--budget", budget_,
                   "GPU memory for the program's allocations: auto, 9.8GiB, 80%, 0:24GiB,1:40GiB, unlimited")
      ->type_name("BUDGET")
      ->capture_default_str();
  app_->add_option("--host-budget", host_budget_, "Host memory for parked contents")->type_name("SIZE");
  app_->add_option("--reserve", reserve_, "What an automatic budget leaves free on the card")
      ->type_name("SIZE");
  app_->add_flag("--verify", verify_, "Check every parked content when it returns (slow)");
  app_->add_option("--allocator", allocator_, "How PyTorch's tensors are seen: auto, uncached, async, native")
      ->capture_default_str();
  app_->add_option("--chunk", chunk_, "Size of one piece of device memory, a power of two")
      ->type_name("SIZE");
  app_->add_option("--movable", movable_, "Allocations from this size on can move")->type_name("SIZE");
  common_.add_to(*app_, "what happened");
  return app_;
}

JobSettings RunCommand::settings() const {
  JobSettings settings;
  settings.budget = Budget::parse(budget_);
  settings.allocator = parse_pytorch_allocator(allocator_);
  settings.host_budget = optional_bytes(host_budget_, "--host-budget");
  settings.reserve = optional_bytes(reserve_, "--reserve");
  settings.movable = optional_bytes(movable_, "--movable");
  if (!chunk_.empty()) settings.chunk = parse_chunk(chunk_);
  settings.verify = verify_;
  settings.quiet = common_.quiet;
  settings.detailed = common_.verbose;
  return settings;
}

JobEnd RunCommand::run() const {
  const Console console(common_.verbosity());
  const JobSettings checked = settings();
  if (job_.empty()) throw Failure("no program to run", "write tferry run PROGRAM ARGUMENTS...");
  Environment environment(environ);
  JobCommand job;
  job.arguments = job_;
  job.file = resolve_program(job.arguments.front(), environment.get("PATH").value_or(kDefaultPath));
  const auto library = Installation::of_this_program().runtime_library();
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);

  const RunDirectory directory(RunDirectory::usual_places());
  const std::string allocator = apply_settings(checked, library, directory.path(), environment);
  console.notice(fmt::format("budget: {}{}; {}", checked.budget.describe(),
                             app_->count("--budget") > 0 ? "" : " (the default)", allocator));
  console.notice(describe_changes(environment));
  console.detail(list_changes(environment));

  const JobEnd end = run_job(job, environment);
  const std::string program = std::filesystem::path(job.arguments.front()).filename().string();
  const RunSummary summary =
      summarise_run(directory.path(), program, checked.budget.to_environment(), end, environment.changes());
  console.notice(to_text(summary));
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
