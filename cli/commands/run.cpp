#include "cli/commands/run.hpp"

#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/job_settings.hpp"
#include "cli/job/launcher.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/output_file.hpp"
#include "cli/report/run_summary.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <unistd.h>

namespace tferry::cli {
CLI::App* RunCommand::add_to(CLI::App& program) {
  app_ = program.add_subcommand("run", "Run a program under a budget of GPU memory");
  app_->footer(
      "The program and its arguments follow the options: tferry run [OPTIONS] [--] PROGRAM [ARGUMENTS...]");
  options_.add_to(*app_);
  common_.add_to(*app_, "what happened");
  return app_;
}

JobEnd RunCommand::run() const {
  const Console console(common_.verbosity());
  const JobSettings checked = options_.settings(common_);
  Environment environment(environ);
  const JobCommand job = find_job(job_, environment);
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
