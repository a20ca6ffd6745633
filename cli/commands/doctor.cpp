#include "cli/commands/doctor.hpp"

#include "cli/doctor/bundle.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/doctor/counter_trial.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/doctor/machine_checks.hpp"
#include "cli/job/recording_setup.hpp"
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
  app->add_option("--for", purpose_, "Only what matters for this: profile, run, coordinate")
      ->check(CLI::IsMember({"profile", "run", "coordinate"}));
  app->add_option("--bundle", bundle_, "Write what a bug report needs to this file, redacted, as JSON")
      ->type_name("FILE");
  app->add_option("--sysfs-root", sysfs_root_, "Where the PCIe tree is read")
      ->type_name("DIR")
      ->capture_default_str();
  common_.add_to(*app, "the findings");
  return app;
}

int DoctorCommand::execute() const {
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);
  std::optional<OutputFile> bundle_file;
  if (!bundle_.empty()) bundle_file.emplace(bundle_, common_.force);
  const Environment environment(environ);
  std::vector<Finding> findings = check_driver(
      run_probe([] { return driver_info_to_json(probe_driver()); }, std::chrono::seconds(time_limit_s_)));
  const bool driver_works = exit_code_of(findings) == 0;
  const Installation installation = Installation::of_this_program();
  const Machine machine = read_machine();
  const std::vector<PcieLink> links = read_pcie_tree(sysfs_root_);
  findings.push_back(check_installation(installation));
  findings.push_back(check_collector(installation));
  const auto offered = find_cupti(environment, installation.program());
  const auto shadowing = cupti_in_library_path(environment);
  const auto used = shadowing ? shadowing : offered;
  findings.push_back(check_cupti(offered, used ? probe_cupti(*used) : ProbeAnswer{}, shadowing));
  findings.push_back(check_injection(environment));
  findings.push_back(check_counter_permission(machine, ::geteuid() == 0));
  if (driver_works && matters_for("counters", purpose_))
    findings.push_back(check_counters(try_counters(installation, environment)));
  for (Finding& finding : check_pcie(links)) findings.push_back(std::move(finding));
  findings.push_back(check_numa(links, machine));
  findings.push_back(check_limits(machine));
  findings.push_back(check_managed_memory(machine));
  findings.push_back(check_host_memory(read_host_memory()));
  findings.push_back(check_locked_memory(locked_memory_limit()));
  findings.push_back(check_shared_memory(free_shared_memory()));
  for (Finding& finding : check_preload(environment)) findings.push_back(std::move(finding));
  findings.push_back(check_pytorch(environment));
  findings.push_back(check_jax(environment));
  std::erase_if(findings, [this](const Finding& finding) { return !matters_for(finding.check, purpose_); });
  if (!common_.quiet) fmt::print("{}\n", findings_to_text(findings));
  std::fflush(stdout);
  if (json) json->publish(findings_to_json(findings));
  if (bundle_file) {
    bundle_file->publish(bundle(findings, links, machine, environ, Redaction::of_this_process(environment)));
  }
  return exit_code_of(findings);
}

}  // namespace tferry::cli
