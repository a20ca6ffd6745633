#include "cli/program.hpp"

#include "cli/commands/analyze.hpp"
#include "cli/commands/calibrate.hpp"
#include "cli/commands/compare.hpp"
#include "cli/commands/demo.hpp"
#include "cli/commands/doctor.hpp"
#include "cli/commands/import.hpp"
#include "cli/commands/job_arguments.hpp"
#include "cli/commands/merge.hpp"
#include "cli/commands/plan.hpp"
#include "cli/commands/profile.hpp"
#include "cli/commands/query.hpp"
#include "cli/commands/report.hpp"
#include "cli/commands/run.hpp"
#include "cli/commands/view.hpp"
#include "cli/console.hpp"
#include "cli/failure.hpp"
#include "cli/session/choose_session.hpp"
#include "trace/session_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace tferry::cli {
namespace {

/// The commands and the parser that fills them in.
struct CommandLine {
  CLI::App app{"Tensorferry: runs CUDA jobs that do not fit their GPU memory, and shows what that takes.",
               "tferry"};
  RunCommand run;
  ProfileCommand profile;
  AnalyzeCommand analyze;
  PlanCommand plan;
  ReportCommand report;
  CompareCommand compare;
  ViewCommand view;
  QueryCommand query;
  MergeCommand merge;
  ImportCommand import;
  DemoCommand demo;
  DoctorCommand doctor;
  CalibrateCommand calibrate;

  struct Entry {
    CLI::App* app;
    const CommonOptions* common;
    std::function<int()> execute;
  };
  CLI::App* run_app = nullptr;
  CLI::App* profile_app = nullptr;
  std::vector<Entry> entries;

  CommandLine() {
    run_app = add(run);
    profile_app = add(profile);
    add(analyze);
    add(plan);
    add(report);
    add(compare);
    add(view);
    add(query);
    add(merge);
    add(import);
    add(demo);
    add(doctor);
    add(calibrate);
    app.set_version_flag("--version", std::string("tferry ") + TFERRY_VERSION);
    app.set_config("--config", "", "Take defaults from this TOML file, one section a command")
        ->type_name("FILE");
    app.require_subcommand(1);
    app.footer("\"tferry COMMAND --help\" tells the options of a command.");
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  template <typename Command>
  CLI::App* add(Command& command) {
    entries.push_back({command.add_to(app), &command.common(), [&command] { return command.execute(); }});
    return entries.back().app;
  }

  /// The file named behind a command, which has to be known before the command's options are filled in.
  std::string config_file() const {
    for (const Entry& entry : entries) {
      if (!entry.common->config_file.empty()) return entry.common->config_file;
    }
    return "";
  }

  int execute() const {
    for (const Entry& entry : entries) {
      if (entry.app->parsed()) return entry.execute();
    }
    throw Failure("no command", "see \"tferry --help\"");
  }
};

/// Takes the job off the arguments of a command that runs one.
void take_job_off(CommandLine& line, std::vector<std::string>& arguments) {
  const std::size_t command = skip_options(line.app, arguments, 0);
  if (command >= arguments.size()) return;
  if (arguments[command] == line.run_app->get_name()) {
    line.run.set_job(take_job(*line.run_app, arguments, command + 1));
  } else if (arguments[command] == line.profile_app->get_name()) {
    line.profile.set_job(take_job(*line.profile_app, arguments, command + 1));
  }
}

/// False where help or version was asked for, and given on standard output.
bool parse(CommandLine& line, std::vector<std::string> arguments) {
  take_job_off(line, arguments);
  std::reverse(arguments.begin(), arguments.end());
  try {
    line.app.parse(arguments);
  } catch (const CLI::Success& request) {
    line.app.exit(request);
    return false;
  } catch (const CLI::ParseError& error) {
    throw Failure(error.what(), "see \"tferry --help\" or \"tferry COMMAND --help\"");
  }
  return true;
}

int execute(const std::vector<std::string>& arguments) {
  CommandLine line;
  if (!parse(line, arguments)) return kOk;
  if (line.config_file().empty()) return line.execute();
  CommandLine configured;
  std::vector<std::string> with_config = {"--config=" + line.config_file()};
  with_config.insert(with_config.end(), arguments.begin(), arguments.end());
  return parse(configured, with_config) ? configured.execute() : kOk;
}

}  // namespace

int run_program(int argc, char** argv) {
  const Console console(Verbosity::kNormal);
  try {
    return execute({argv + 1, argv + std::max(argc, 1)});
  } catch (const Failure& failure) {
    console.failure(failure);
    return failure.exit_code();
  } catch (const trace::SessionError& error) {
    console.failure(session_failure(error));
  } catch (const std::exception& error) {
    console.failure(Failure(error.what(), "this is a defect of Tensorferry; please report the command"));
  }
  return kOwnFailure;
}

}  // namespace tferry::cli
