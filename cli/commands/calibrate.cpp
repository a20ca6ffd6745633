#include "cli/commands/calibrate.hpp"

#include "cli/byte_size.hpp"
#include "cli/calibration/calibration_files.hpp"
#include "cli/calibration/calibration_text.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/job/captured_program.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/installation.hpp"
#include "cli/output_file.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "tferry-calibrate";
constexpr auto kGrace = std::chrono::seconds(60);  // an experiment ends after the limit that it began before

/// Keeps the calibration where sessions look for it; an earlier one of the same machine is replaced.
void keep(const trace::Calibration& calibration, const Console& console) {
  const fs::path folder = calibration_folder(Environment(environ));
  if (folder.empty()) {
    return console.warning(
        "not kept for sessions: neither HOME nor XDG_DATA_HOME is set; keep it by --json FILE");
  }
  const fs::path file = folder / calibration_name(calibration);
  std::error_code error;
  fs::create_directories(folder, error);
  try {
    OutputFile(file, true).publish(to_json(calibration));
  } catch (const Failure& failure) {
    return console.warning(fmt::format("not kept for sessions: {}", failure.what()));
  }
  console.notice(fmt::format("kept: {} ({} bytes); sessions recorded here will have these rates",
                             file.string(), fs::file_size(file, error)));
}

}  // namespace

CLI::App* CalibrateCommand::add_to(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "calibrate", "Measure this machine's links: each GPU alone, pairs, all together, and what they share");
  app->add_option("--time-limit", time_limit_s_, "Seconds; what is not measured by then is named")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app->add_option("--repeats", repeats_, "Repeats of each measurement")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app->add_option("--gpu", gpus_, "GPUs to measure, by PCI order (default: all)")
      ->delimiter(',')
      ->type_name("N,...");
  app->add_option("--buffer", buffer_, "Host and device memory of each GPU and direction (default: 256MiB)")
      ->type_name("SIZE");
  app->add_option("--run", run_, "That one repeat copies each way (default: 2GiB)")->type_name("SIZE");
  app->add_option("--show", show_, "Measure nothing, print this calibration")->type_name("FILE");
  app->add_flag("!--no-keep", keep_, "Do not keep it for the sessions that are recorded here");
  common_.add_to(*app, "the calibration");
  return app;
}

trace::Calibration CalibrateCommand::measure() const {
  const auto program = Installation::of_this_program().executable(kProgram);
  if (!program) {
    throw Failure(fmt::format("{} is not here", kProgram),
                  "it is built where a CUDA toolkit 13.0 or newer is (./bootstrap build)");
  }
  std::vector<std::string> command = {program->string(), "--time-limit", std::to_string(time_limit_s_),
                                      "--repeats", std::to_string(repeats_)};
  for (const int gpu : gpus_) command.insert(command.end(), {"--gpu", std::to_string(gpu)});
  if (!buffer_.empty())
    command.insert(command.end(), {"--buffer-bytes", std::to_string(parse_bytes(buffer_, "--buffer"))});
  if (!run_.empty())
    command.insert(command.end(), {"--run-bytes", std::to_string(parse_bytes(run_, "--run"))});
  const CapturedRun run = run_captured(command, std::chrono::seconds(time_limit_s_) + kGrace);
  if (!run.started)
    throw Failure("no process can be made", "check the limit of processes (ulimit -u) and free memory");
  if (!run.in_time) {
    throw Failure(fmt::format("{} did not end within {} s", kProgram, time_limit_s_ + kGrace.count()),
                  "run nvidia-smi: a GPU may hang; try --gpu N with one GPU at a time");
  }
  if (run.exit_code != 0) {
    throw Failure(fmt::format("nothing was measured ({} ended with {})", kProgram,
                              run.signal != 0 ? fmt::format("signal {}", run.signal)
                                              : fmt::format("exit code {}", run.exit_code)),
                  "see tferry doctor");
  }
  try {
    return trace::calibration_from_json(run.output);
  } catch (const std::runtime_error& error) {
    throw Failure(fmt::format("{} printed something else than a calibration: {}", kProgram, error.what()),
                  "keep the programs of one version of Tensorferry together");
  }
}

int CalibrateCommand::execute() const {
  const Console console(common_.verbosity());
  std::optional<OutputFile> json;
  if (!common_.json_file.empty()) json.emplace(common_.json_file, common_.force);
  const trace::Calibration calibration = show_.empty() ? measure() : read_calibration(show_);
  if (!common_.quiet) fmt::print("{}", calibration_text(calibration));
  std::fflush(stdout);
  if (json) json->publish(to_json(calibration));
  if (show_.empty() && keep_ && !calibration.figures.empty()) keep(calibration, console);
  return kOk;
}

}  // namespace tferry::cli
