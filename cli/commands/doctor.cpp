#include "cli/commands/doctor.hpp"

#include "cli/doctor/checks.hpp"
#include "cli/output_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

std::optional<std::int64_t> locked_memory_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::optional<std::int64_t> free_shared_memory() {
  struct statvfs status{};
  if (::statvfs("/dev/shm", &status) != 0) return std::nullopt;
  return static_cast<std::int64_t>(status.f_bavail * status.f_frsize);
}

}  // namespace

CLI::App* DoctorCommand::add_to(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("doctor", "Say what works on this machine, what is lost and how to mend it");
  app->add_option("--time-limit", time_limit_s_, "Seconds that the CUDA driver may take to answer")
      ->check(CLI::Range(1, 600))
      ->capture_default_str();
  common_.add_to(*app, "the findings");
  return app;
}

int DoctorCommand::execute() const {
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);
  const Environment environment(environ);
  std::vector<Finding> findings = check_driver(
      run_probe([] { return driver_info_to_json(probe_driver()); }, std::chrono::seconds(time_limit_s_)));
  findings.push_back(check_installation(Installation::of_this_program()));
  findings.push_back(check_host_memory(read_host_memory()));
  findings.push_back(check_locked_memory(locked_memory_limit()));
  findings.push_back(check_shared_memory(free_shared_memory()));
  for (Finding& finding : check_preload(environment)) findings.push_back(std::move(finding));
  findings.push_back(check_pytorch(environment));
  if (!common_.quiet) fmt::print("{}\n", findings_to_text(findings));
  std::fflush(stdout);
  if (json) json->publish(findings_to_json(findings));
  return exit_code_of(findings);
}

}  // namespace tferry::cli
