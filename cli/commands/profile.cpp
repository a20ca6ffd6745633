#include "cli/commands/profile.hpp"

#include "cli/byte_size.hpp"
#include "cli/calibration/calibration_files.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/job/output_pattern.hpp"
#include "cli/job/recording_setup.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/job/sampler_process.hpp"
#include "cli/job/shared_recording.hpp"
#include "cli/output_file.hpp"
#include "cli/report/run_summary.hpp"
#include "cli/session/build_session.hpp"
#include "cli/session/spool_folder.hpp"
#include "trace/range_request.hpp"
#include "trace/rank.hpp"
#include "trace/session_error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSampler = "tferry-sampler";
constexpr std::size_t kShownLosses = 6;
constexpr std::int64_t kShortestKept = 1'000'000'000;

/// Microseconds of "100us", "1ms" or a bare number of microseconds.
std::int64_t parse_interval(const std::string& text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const std::int64_t scale = unit.empty() || unit == "us" ? 1 : unit == "ms" ? 1000 : 0;
  if (error != std::errc{} || scale == 0 || value < 1 || value > 10'000 / scale || value * scale < 20) {
    throw Failure(fmt::format("--counter-interval: {} is no time from 20us to 10ms", text),
                  "write 100us or 1ms");
  }
  return value * scale;
}

/// Where the file goes, checked before the job starts. A default name is chosen anew at the end.
fs::path checked_output(const std::string& pattern, const std::vector<std::string>& job, bool force,
                        const Environment& environment) {
  const fs::path path = pattern.empty() ? next_session_path(".", recording_name(job)).lexically_normal()
                                        : fs::path(expand_output_pattern(pattern, environment));
  return OutputFile(path, force).path();
}

std::string end_text(const JobEnd& end) {
  return end.signalled ? fmt::format("signal {}", end.code) : fmt::format("exit code {}", end.code);
}

}  // namespace

CLI::App* ProfileCommand::add_to(CLI::App& program) {
  app_ =
      program.add_subcommand("profile", "Run a program and record what it does on its GPUs, into a session");
  app_->footer(
      "The program and its arguments follow the options: tferry profile [OPTIONS] [--] PROGRAM "
      "[ARGUMENTS...]");
  app_->add_option(
          "-o,--output", output_,
          "The session's file; %h host, %p process id, %q{NAME} variable (default: NAME.N.tferry here)")
      ->type_name("FILE");
  options_.budget = "unlimited";
  options_.add_to(*app_);
  app_->add_flag("--no-preload", no_preload_, "Record by CUPTI alone: no allocations, no launch arguments");
  app_->add_option("--counters", counters_, "Sample PCIe and DRAM counters of all GPUs: on, off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app_->add_option("--counter-interval", counter_interval_, "Time between samples, 20us to 10ms")
      ->capture_default_str();
  app_->add_option("--max-size,--spool-limit", max_size_,
                   "Recording of a process stops at this size, and says so")
      ->type_name("SIZE")
      ->capture_default_str();
  app_->add_option("--keep-last", keep_last_,
                   "Keep the last so long only, such as 60s: for long jobs, until something happens")
      ->type_name("TIME");
  app_->add_option("--ranks", ranks_, "Record these ranks only, such as 0,3 (default: all)")
      ->type_name("N,...");
  app_->add_option(
          "--range", range_,
          "Record GPU activity only in part: cuda-profiler-api, nvtx:NAME@DOMAIN, time:START+DURATION "
          "(time:30s+10s), iterations:FIRST..LAST (from 0, found while the job runs)")
      ->type_name("RANGE");
  app_->add_option("--then", then_, "After the first range: continue with the next one, or stop recording")
      ->check(CLI::IsMember({"continue", "stop"}))
      ->capture_default_str();
  app_->add_option("--names", names_,
                   "Name allocations: auto and nvtx after the NVTX range they were made in; pytorch by what "
                   "PyTorch says they are for, in its first steps (those are slower); off")
      ->check(CLI::IsMember({"auto", "nvtx", "pytorch", "off"}))
      ->capture_default_str();
  app_->add_flag(
      "--access-direction", access_direction_,
      "Find out what kernels do to their arguments (read, changed where, overwritten before being read) by "
      "trying: slow the first time that a kernel runs");
  app_->add_option(
          "--access", access_,
          "A pass that finds out what kernels touch. pages: by page faults, what no argument names included; "
          "every launch is slow, so for a few iterations. direction: --access-direction")
      ->check(CLI::IsMember({"pages", "direction"}));
  app_->add_flag("--api", api_, "Record the driver's calls that can hold a thread up, too");
  app_->add_flag("--unified-memory", unified_memory_,
                 "Record page faults and migrations of managed memory, too");
  app_->add_option("--calibration", calibration_,
                   "Take the rates of links from this file (default: the newest that tferry calibrate kept)")
      ->type_name("FILE");
  app_->add_option("--sysfs-root", sysfs_root_, "Where the PCIe tree is read")
      ->type_name("DIR")
      ->capture_default_str();
  app_->add_option("--keep-spools", keep_spools_, "Keep the raw recording in this folder, too")
      ->type_name("DIR");
  common_.add_to(*app_, "what happened");
  return app_;
}

void ProfileCommand::choose_access(RecordingSettings& recording) const {
  recording.access_pages = access_ == "pages";
  recording.access_direction = access_direction_ || access_ == "direction";
  if (recording.access_pages && recording.access_direction)
    throw Failure("--access pages and --access-direction are two passes", "record the job once with each");
  const char* name = recording.access_pages ? "--access pages" : "--access-direction";
  if (!recording.access_pages && !recording.access_direction) return;
  if (no_preload_) {
    throw Failure(fmt::format("{} needs the preloaded runtime, which --no-preload leaves out", name),
                  "leave one of them out");
  }
  if (app_->count("--budget") > 0) {
    throw Failure(
        recording.access_pages
            ? "--access pages has the program's memory be managed memory, for which there is no --budget here"
            : "--access-direction tries kernels on memory that stays where it is, and --budget moves it",
        "leave one of them out");
  }
  if (recording.access_pages && !range_.empty()) {
    throw Failure("--access pages watches the job from its first launch on, and --range records a part of it",
                  "leave --range out, and run a few iterations");
  }
}

RecordingSettings ProfileCommand::recording_settings() const {
  RecordingSettings recording;
  recording.hooks = !no_preload_;
  recording.spool_limit = parse_bytes(max_size_, "--max-size");
  if (!keep_last_.empty()) {
    const bool understood = trace::parse_duration(keep_last_, recording.keep_last_ns);
    if (!understood || recording.keep_last_ns < kShortestKept) {
      throw Failure(fmt::format("--keep-last: {} is no time of a second or more", keep_last_), "write 60s");
    }
  }
  choose_access(recording);
  if (api_) recording.more_kinds.emplace_back("api");
  if (unified_memory_ || recording.access_pages) recording.more_kinds.emplace_back("um");
  trace::RangeRequest range;
  std::string error;
  if (!trace::RangeRequest::parse(range_, range, error))
    throw Failure("--range: " + error, "see tferry profile --help");
  if (range.kind == trace::RangeRequest::Kind::kIterations && no_preload_) {
    throw Failure("--range iterations needs the preloaded runtime, which --no-preload leaves out",
                  "leave --no-preload out, or record a time");
  }
  recording.range = range_;
  recording.stop_after_range = then_ == "stop";
  if (ranks_.find_first_not_of("0123456789,") != std::string::npos) {
    throw Failure(fmt::format("--ranks: {} is no list of ranks", ranks_), "write --ranks 0,3");
  }
  recording.ranks = ranks_;
  recording.name_pytorch = names_ == "pytorch";
  return recording;
}

HostFacts ProfileCommand::host_facts(const Environment& environment) const {
  HostFacts facts = read_host_facts(sysfs_root_);
  if (!calibration_.empty()) {
    facts.calibration = read_calibration(calibration_);
    return facts;
  }
  for (const PcieLink& link : facts.links) {
    if (!link.gpu || facts.calibration) continue;
    facts.calibration = find_calibration_at(calibration_folder(environment), facts.host, link.address);
  }
  return facts;
}

ProfileCommand::Outcome ProfileCommand::record() const {
  const Console console(common_.verbosity());
  const JobSettings checked = options_.settings(common_);
  if (no_preload_ && checked.budget.kind() != Budget::Kind::kUnlimited) {
    throw Failure("--budget needs the preloaded runtime, which --no-preload leaves out",
                  "leave one of them out");
  }
  const std::int64_t interval_us = parse_interval(counter_interval_);
  RecordingSettings recording = recording_settings();
  Environment environment(environ);
  const JobCommand job = find_job(job_, environment);
  recording.program = job.file;
  const Installation installation = Installation::of_this_program();
  const fs::path library = no_preload_ ? fs::path() : installation.runtime_library();
  fs::path output = checked_output(output_, job_, common_.force, environment);
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);
  const std::optional<SpoolFolder> kept =
      keep_spools_.empty() ? std::nullopt : std::optional<SpoolFolder>(fs::path(keep_spools_));

  if (!trace::wanted_rank(trace::Rank::from_environment(), ranks_)) {
    console.detail(fmt::format("not recorded: this rank is not among --ranks {}", ranks_));
    return {.end = run_job(job, environment), .written = true};
  }
  const HostFacts facts = host_facts(environment);
  SharedRecording directory(RunDirectory::places_on_disk(), SharedRecording::job_key(environment));
  if (directory.owner()) OutputFile(directory.path() / HostFacts::kFile, true).publish(to_json(facts));
  RecordingExpectation expected;
  expected.hooks = recording.hooks;
  if (!no_preload_) {
    const std::string allocator = apply_settings(checked, library, directory.path(), environment);
    console.notice(fmt::format("budget: {}{}; {}", checked.budget.describe(),
                               app_->count("--budget") > 0 ? "" : " (the default)", allocator));
  }
  expected.collector_problems = apply_recording(recording, installation, directory.path(), environment);
  for (const std::string& problem : expected.collector_problems)
    console.warning("will be missing: " + problem);
  console.notice(describe_changes(environment));
  console.detail(list_changes(environment));

  std::optional<SamplerProcess> sampler;
  expected.counters = counters_ == "on";
  // One launcher of a host has the counters; the others record into its session.
  if (expected.counters && directory.owner()) {
    if (const auto program = installation.executable(kSampler)) {
      const auto cupti = find_cupti(environment, job.file);
      const SamplerProcess::Sampling sampling{.interval_us = interval_us,
                                              .keep_last_ns = recording.keep_last_ns};
      sampler.emplace(*program, directory.path(), sampling, cupti ? cupti->parent_path() : fs::path());
      expected.counters_problem = sampler->problem();
    } else {
      expected.counters_problem =
          "tferry-sampler is not here; it is built where a CUDA toolkit 13.0 or newer is";
    }
    if (expected.counters_problem.empty()) {
      console.notice(fmt::format("counters: {} GPUs, every {} us", sampler->gpus(), interval_us));
    } else {
      console.warning("will be missing: hardware counters: " + expected.counters_problem);
    }
  }

  Outcome outcome;
  outcome.end = run_job(job, environment);
  if (!directory.finish()) {
    console.notice("recorded into the session of this job's first launcher on this host");
    outcome.written = true;
    return outcome;
  }
  if (sampler) sampler->stop();

  const std::string program = fs::path(job.arguments.front()).filename().string();
  const RunSummary summary = summarise_run(directory.path(), program, checked.budget.to_environment(),
                                           outcome.end, environment.changes());
  if (!no_preload_) console.notice(to_text(summary));
  const std::vector<std::string> spools = find_spools(directory.path());
  try {
    if (kept) kept->take(spools, facts);
    SessionExtras extras;
    extras.name_by_nvtx = names_ != "off";
    extras.access_pages = recording.access_pages;
    for (const ProcessSummary& process : summary.processes) extras.processes.push_back(process.process);
    extras.missing = find_gaps(spools, expected, extras.processes);
    extras.meta = {{"recorded_by", "tferry profile"},
                   {"budget", no_preload_ ? "unlimited" : checked.budget.to_environment()},
                   {"job.end", end_text(outcome.end)},
                   {"job.duration_ns", std::to_string(outcome.end.duration_ns)}};
    if (recording.keep_last_ns > 0)
      extras.meta.emplace_back("keep_last_ns", std::to_string(recording.keep_last_ns));
    if (output_.empty()) output = next_session_path(".", recording_name(job_)).lexically_normal();
    const std::vector<HostSpools> hosts = {{.spools = spools, .facts = facts}};
    const BuiltSession built = build_session(hosts, output, common_.force && !output_.empty(), extras);
    outcome.written = true;
    for (const std::string& line : describe_losses(built.path, kShownLosses))
      console.warning("missing: " + line);
    console.notice(
        fmt::format("session: {} ({}): {} records of {} processes, {} kernels that ran, {} launches seen",
                    built.path.string(), format_bytes(built.bytes), built.report.records,
                    built.report.processes, built.report.kernels, built.report.kernel_calls));
    if (built.pages.events > 0) console.notice(built.pages.text());
    console.notice(fmt::format("next: tferry analyze {0} --oversubscribe 1.5, tferry report summary {0}",
                               built.path.string()));
  } catch (const trace::SessionError& error) {
    directory.keep();
    console.failure(
        Failure(error.what(), fmt::format("the recording is whole in {0}: make room, then tferry merge {0} "
                                          "-o FILE, and remove it",
                                          directory.path().string())));
  } catch (const Failure& failure) {
    directory.keep();
    console.failure(failure);
  }
  if (json) {
    try {
      json->publish(to_json(summary));
    } catch (const Failure& failure) {
      console.failure(failure);  // the job's own end is what counts
    }
  }
  return outcome;
}

int ProfileCommand::execute() const {
  const Outcome outcome = record();  // by now the run directory is gone
  if (!outcome.written && !outcome.end.signalled && outcome.end.code == 0) return kOwnFailure;
  return repeat_end(outcome.end);
}

}  // namespace tferry::cli
