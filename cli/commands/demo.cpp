#include "cli/commands/demo.hpp"

#include "cli/byte_size.hpp"
#include "cli/console.hpp"
#include "cli/demo/recording_demo.hpp"
#include "cli/demo/sample_run.hpp"
#include "cli/demo/synthetic_session.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/run_directory.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>
#include <vector>

namespace tferry::cli {
namespace {

constexpr const char* kSample = "tferry-sample-layers";
constexpr const char* kSoftwareDriver = "software_driver/libcuda.so.1";

std::filesystem::path needed(const std::optional<std::filesystem::path>& found, const char* what) {
  if (found) return *found;
  throw Failure(fmt::format("{} is not here: it is part of a full build", what),
                "run ./bootstrap demo on a machine with a CUDA toolkit 13.0 or newer");
}

/// The largest `allocated_peak` in a report of tferry run; unset: the report tells none.
std::optional<std::int64_t> footprint_in(const std::filesystem::path& report) {
  std::ifstream file(report);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  std::optional<std::int64_t> footprint;
  if (!json.is_object() || !json.contains("processes")) return std::nullopt;
  for (const auto& process : json["processes"]) {
    for (const auto& device : process["devices"]) {
      const auto& peak = device["allocated_peak"];
      if (peak.is_number_integer()) footprint = std::max(footprint.value_or(0), peak.get<std::int64_t>());
    }
  }
  return footprint;
}

bool installed_in_full() {
  const Installation installation = Installation::of_this_program();
  return installation.executable(kSample) && installation.library(kSoftwareDriver) &&
         installation.library("libtferry_runtime.so");
}

void show(const SampleRun& run) {
  for (const std::string& line : run.lines) fmt::print("  {}\n", line);
  std::fflush(stdout);
}

void require_success(const SampleRun& run, const char* which) {
  if (run.exit_code == 0 && run.answer()) return;
  show(run);
  throw Failure(fmt::format("the sample failed {}: exit code {}", which, run.exit_code),
                "report this with the output above");
}

}  // namespace

CLI::App* DemoCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "demo", "Show a recording and a job running in a third of its memory, without a GPU");
  app->add_option("--part", part_, "What to show: recording, run, both")
      ->check(CLI::IsMember({"recording", "run", "both"}))
      ->capture_default_str();
  app->add_option("--synthesize", events_, "Write a session of so many made-up events (10M, 200k) instead")
      ->type_name("N");
  app->add_option("--seed", seed_, "The same seed gives the same session")->capture_default_str();
  app->add_option("-o,--output", output_, "Where to; else synthetic-N.tferry here")->type_name("FILE");
  common_.add_to(*app, "the report of the run under a budget");
  return app;
}

int DemoCommand::synthesize() const {
  const Console console(common_.verbosity());
  const SyntheticOptions options{parse_count(events_, "--synthesize"), seed_, common_.force};
  const std::string path = output_.empty() ? fmt::format("synthetic-{}.tferry", events_) : output_;
  int shown = 0;
  const std::int64_t events = write_synthetic_session(path, options, [&](double done) {
    const int tenths = static_cast<int>(done * 10);
    if (tenths > shown) console.notice(fmt::format("{} %", (shown = tenths) * 10));
  });
  console.notice(fmt::format("{} synthetic events in {}; next: tferry view {}", events, path, path));
  return kOk;
}

int DemoCommand::execute() const {
  if (!events_.empty()) return synthesize();
  const auto recording = part_ == "run" ? std::nullopt : find_recording(Installation::of_this_program());
  if (part_ == "recording" && !recording) {
    throw Failure("the recording gpt2.tferry is not here",
                  "run the demo from a whole checkout, after ./bootstrap build");
  }
  if (recording) {
    fmt::print(
        "A recording of a real job on a real GPU, analyzed here for two thirds of its memory. Nothing is "
        "executed on "
        "a GPU.\n\n");
    show_recording(*recording);
    if (part_ == "recording") return kOk;
    fmt::print("\nAnd a job that runs in less memory than it needs:\n\n");
  }
  try {
    return run_part();
  } catch (const Failure& failure) {
    if (!recording || installed_in_full()) throw;
    fmt::print("left out: {}\nNothing was executed on a GPU.\n", failure.what());
    return kOk;
  }
}

int DemoCommand::run_part() const {
  const Installation installation = Installation::of_this_program();
  installation.runtime_library();
  const auto sample = needed(installation.executable(kSample), kSample);
  const auto driver = needed(installation.library(kSoftwareDriver), kSoftwareDriver);

  Environment environment(environ);
  environment.prepend("LD_LIBRARY_PATH", driver.parent_path().string(), ':');
  const std::vector<std::string> variables = {
      fmt::format("LD_LIBRARY_PATH={}", *environment.get("LD_LIBRARY_PATH"))};
  const std::vector<std::string> job = {sample.string(), "--buffers", "24", "--mib", "4",
                                        "--iterations",  "8"};
  const auto under_tferry = [&](std::vector<std::string> options) {
    std::vector<std::string> command = {installation.program().string(), "run"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), job.begin(), job.end());
    return command;
  };
  const RunDirectory scratch(RunDirectory::usual_places());

  fmt::print(
      "Nothing here is executed on a GPU: the software driver stands in for one, its memory is host memory,\n"
      "its kernels are C++ functions, and its times say nothing about a GPU.\n\n"
      "1. The job as it is:\n");
  const SampleRun native = run_sample(job, variables);
  require_success(native, "on its own");
  show(native);

  const auto unlimited_report = scratch.path() / "unlimited.json";
  const SampleRun unlimited = run_sample(
      under_tferry({"-q", "--budget", "unlimited", "--json", unlimited_report.string()}), variables);
  require_success(unlimited, "under tferry run without a limit");
  const auto footprint = footprint_in(unlimited_report);
  if (!footprint || *footprint <= 0) {
    throw Failure("the footprint of the job is unknown: tferry run reported none",
                  "run tferry doctor, and report this");
  }

  const std::int64_t budget = *footprint / 3;
  fmt::print("\n2. It needs {}. Under tferry run --budget {}, a third of that:\n",
             format_bytes_exact(*footprint), budget);
  std::fflush(stdout);
  std::vector<std::string> options = {"--budget", std::to_string(budget)};
  if (!common_.json_file.empty()) options.insert(options.end(), {"--json", common_.json_file});
  if (common_.force) options.emplace_back("--force");
  if (common_.quiet) options.emplace_back("-q");
  const SampleRun limited = run_sample(under_tferry(options), variables);
  require_success(limited, "under a budget");
  show(limited);

  const bool same = native.answer() == limited.answer();
  fmt::print("\nAnswer on its own      {}\nAnswer under a budget  {}: {}\n", *native.answer(),
             *limited.answer(), same ? "the same" : "DIFFERENT");
  fmt::print("Nothing was executed on a GPU.\n");
  return same ? 0 : 1;
}

}  // namespace tferry::cli
