#include "cli/report/run_summary.hpp"

#include "cli/byte_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tferry::cli {
namespace {

std::string process_name(const ProcessSnapshot& process) {
  return fmt::format("process {} ({})", process.pid, process.command.empty() ? "?" : process.command);
}

DeviceSummary summarise_device(const DeviceSnapshot& counters, const OperationLog& log) {
  DeviceSummary summary{
      counters, measure_iterations(log, counters.device, {counters.bytes_out, counters.bytes_in}), ""};
  if (!summary.iterations) {
    summary.iterations_unknown = !log.defect.empty()   ? "operation log: " + log.defect
                                 : log.entries.empty() ? "no operation was recorded"
                                                       : "no repeating sequence of operations was found";
  }
  return summary;
}

void note_device(const ProcessSnapshot& process, const DeviceSnapshot& device,
                 std::vector<std::string>& notes) {
  if (device.audit_failures.value_or(0) > 0) {
    notes.push_back(fmt::format(
        "audit: {} of {} contents that were compared had changed unseen on device {} of {}; do not trust "
        "this run's "
        "results, and report it with the program that shows it",
        *device.audit_failures, device.audit_checks.value_or(0), device.device, process_name(process)));
  }
  if (device.out_of_memory.value_or(0) > 0) {
    notes.push_back(
        fmt::format("{} allocations on device {} of {} were answered with out-of-memory; a larger --budget "
                    "or --host-budget, or a "
                    "smaller batch, helps{}",
                    *device.out_of_memory, device.device, process_name(process),
                    process.message.empty() ? "" : " (see the message above)"));
  }
}

void note_process(const ProcessSnapshot& process, std::vector<std::string>& notes) {
  if (process.stage == static_cast<std::int64_t>(trace::JobStage::kOff)) {
    notes.push_back(fmt::format("the runtime stepped aside in {}: {}", process_name(process),
                                process.message.empty() ? "it did not say why" : process.message));
  } else if (!process.message.empty()) {
    notes.push_back(fmt::format("{} says: {}", process_name(process), process.message));
  }
  for (const DeviceSnapshot& device : process.devices) note_device(process, device, notes);
}

void note_reach(const std::vector<ProcessSnapshot>& processes, std::vector<std::string>& notes) {
  if (processes.empty()) {
    notes.emplace_back(
        "the runtime library reported from no process: the program may be statically linked, set-user-id, or "
        "clear "
        "LD_PRELOAD; it ran as it would without tferry");
    return;
  }
  const auto any = [&processes](auto&& condition) {
    return std::any_of(processes.begin(), processes.end(), condition);
  };
  if (any([](const ProcessSnapshot& process) { return process.reached(trace::JobStage::kHooked); })) return;
  if (any([](const ProcessSnapshot& process) {
        return process.driver_loaded.value_or(0) == 1 || process.reached(trace::JobStage::kDriverFound);
      })) {
    notes.emplace_back(
        "a CUDA driver was loaded, but none of its functions was called through us: nothing was managed; "
        "please "
        "report the program, and how it opens the driver");
  } else {
    notes.emplace_back(
        "no GPU was used: no process opened the CUDA driver; if it should have, see what \"tferry doctor\" "
        "finds");
  }
}

}  // namespace

RunSummary summarise_run(const std::filesystem::path& directory, std::string program,
                         std::string requested_budget, const JobEnd& end,
                         std::vector<Environment::Change> environment) {
  RunSummary summary{
      std::move(program), std::move(requested_budget), end, std::move(environment), {}, {}, {}, {}, {}};
  StatusDirectoryRead read = read_status_directory(directory);
  summary.defects = std::move(read.defects);
  if (!read.processes.empty() || summary.defects.empty()) note_reach(read.processes, summary.notes);
  for (ProcessSnapshot& process : read.processes) {
    note_process(process, summary.notes);
    ProcessSummary entry{std::move(process), {}};
    OperationLog log;
    if (!entry.process.devices.empty()) {
      log = read_operation_file(directory / fmt::format("operations.{}", entry.process.pid));
    }
    for (const DeviceSnapshot& device : entry.process.devices)
      entry.devices.push_back(summarise_device(device, log));
    summary.processes.push_back(std::move(entry));
  }
  return summary;
}

}  // namespace tferry::cli
