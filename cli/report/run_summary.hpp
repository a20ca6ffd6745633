#pragma once

#include "cli/job/environment.hpp"
#include "cli/job/launcher.hpp"
#include "cli/status/iteration_figures.hpp"
#include "cli/status/status_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// One device of one process under `tferry run`.
struct DeviceSummary {
  DeviceSnapshot counters;
  std::optional<IterationFigures> iterations;
  std::string iterations_unknown;  ///< why there are none
};

struct ProcessSummary {
  ProcessSnapshot process;
  std::vector<DeviceSummary> devices;
};

/// Everything that `tferry run` tells when the job has ended; text and JSON are two ways of writing this one
/// model.
struct RunSummary {
  std::string program;
  std::string requested_budget;  ///< as the runtime was told
  JobEnd end;
  std::vector<Environment::Change> environment;
  std::vector<ProcessSummary> processes;
  std::vector<std::string> notes;    ///< what the user has to know, in sentences with what to do
  std::vector<std::string> defects;  ///< files that could not be read
  std::string plan = {};             ///< name of the plan that was to be followed; empty: none was given
  std::string plan_link = {};        ///< what it is for, where that is not the GPU's own link alone
};

/// Reads what the job's processes left in `directory` and draws the conclusions: no GPU used, a driver of
/// which no hook was called, a runtime that stepped aside, audit failures, out-of-memory answers.
RunSummary summarise_run(const std::filesystem::path& directory, std::string program,
                         std::string requested_budget, const JobEnd& end,
                         std::vector<Environment::Change> environment);

/// A compact block for people; no line breaks at the end. Unknown figures say so.
std::string to_text(const RunSummary& summary);

/// The whole model; unknown figures are null. The form is documented in docs/run-report.md.
std::string to_json(const RunSummary& summary);

}  // namespace tferry::cli
