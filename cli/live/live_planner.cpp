#include "cli/live/live_planner.hpp"

#include "analyzer/live/live_plan.hpp"
#include "cli/byte_size.hpp"
#include "cli/output_file.hpp"
#include "cli/report/route_text.hpp"
#include "cli/status/status_file.hpp"
#include "trace/copy_route.hpp"
#include "trace/flat_plan.hpp"

#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostPlans = 3;
constexpr std::size_t kFewestOperations = 12;  ///< before it makes sense to look for iterations
constexpr double kMoreToLookAgain = 1.1, kMoreToPlanAgain = 1.5;

/// The process of a spool that hooks write; 0 for other files.
int process_of(const std::string& name) {
  constexpr std::string_view kPrefix = "spool.";
  if (!name.starts_with(kPrefix) || name.find(".runtime.") == std::string::npos ||
      name.find(".new.") != std::string::npos)
    return 0;
  int pid = 0;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
  return pid;
}

std::optional<DeviceSnapshot> device_of(const fs::path& directory, int pid, int device) {
  const StatusFileRead read = read_status_file(directory / fmt::format("status.{}", pid));
  if (!read.process) return std::nullopt;
  for (const DeviceSnapshot& snapshot : read.process->devices) {
    if (snapshot.device == device) return snapshot;
  }
  return std::nullopt;
}

trace::PlanState state_of(const DeviceSnapshot& device) {
  return static_cast<trace::PlanState>(device.plan_state.value_or(0));
}

/// By which way its contents go from now on.
trace::CopyRoute::Way way_of(const DeviceSnapshot& device) {
  return trace::route_named(route_taken_name(device.route).value_or("direct"))
      .value_or(trace::CopyRoute::Way::kDirect);
}

/// Whether the runtime is done with the plan that it has: it cannot be followed, or the job does something
/// else.
bool left(const DeviceSnapshot& device) {
  const trace::PlanState state = state_of(device);
  return state == trace::PlanState::kForeign || state == trace::PlanState::kRefused ||
         state == trace::PlanState::kAstray;
}

}  // namespace

void LivePlanner::look() {
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end; entry.increment(error)) {
    const int pid = process_of(entry->path().filename().string());
    if (pid == 0) continue;
    Job& job = jobs_[pid];
    if (job.spool || job.done) continue;
    try {
      job.spool = std::make_unique<trace::SpoolReader>(entry->path().string());
    } catch (const trace::SpoolError& failure) {
      console_.detail(fmt::format("no plan is made for process {}: {}", pid, failure.what()));
      job.done = true;
    }
  }
  for (auto& [pid, job] : jobs_) {
    if (!job.done) look_at(pid, job);
  }
}

void LivePlanner::look_at(int pid, Job& job) {
  while (const auto record = job.spool->next()) job.recording.add(*record);
  try {
    job.done = job.plans > 0 && found_costly(pid, job);
    if (!job.done && due(pid, job)) plan(pid, job);
  } catch (const std::exception& failure) {
    console_.detail(fmt::format("no plan is made for process {}: {}", pid, failure.what()));
    job.done = true;
  }
  if (job.done) {  // what was read is not needed any more
    job.spool.reset();
    job.recording = {};
  }
}

/// The job was faster without its plan: another one would be made from the same.
bool LivePlanner::found_costly(int pid, const Job& job) const {
  const auto device = device_of(directory_, pid, job.recording.device().value_or(-1));
  return device && state_of(*device) == trace::PlanState::kCostly;
}

bool LivePlanner::due(int pid, const Job& job) const {
  const auto operations = static_cast<double>(job.recording.operations());
  const double more = job.plans == 0 ? kMoreToLookAgain : kMoreToPlanAgain;
  if (operations < kFewestOperations || operations < more * static_cast<double>(job.looked_at)) return false;
  const auto device = device_of(directory_, pid, job.recording.device().value_or(-1));
  return device && device->bytes_out.value_or(0) > 0 && (job.plans == 0 || left(*device));
}

void LivePlanner::plan(int pid, Job& job) {
  const auto device = device_of(directory_, pid, *job.recording.device());
  job.looked_at = job.recording.operations();
  if (!device || device->budget.value_or(0) <= 0 || device->chunk_size.value_or(0) <= 0) return;
  analyzer::LivePlanOptions options;
  options.budget_bytes = *device->budget;
  options.memory = trace::MemoryRules::with_chunk(static_cast<std::uint64_t>(*device->chunk_size));
  if (movable_)
    options.memory.movable = std::max(options.memory.chunk, static_cast<std::uint64_t>(*movable_));
  options.name = "made while the job ran";
  options.route = way_of(*device);
  const analyzer::RouteLink link = analyzer::route_link({options.link, "assumed"}, options.route, routes_);
  options.link = link.rates;
  const analyzer::LivePlan made = analyzer::make_live_plan(job.recording, options);
  if (!made.plan) {
    console_.detail(fmt::format("process {}: no plan yet: {}", pid, made.reason));
    return;
  }
  const std::vector<std::byte> bytes = trace::encode_flat_plan(*made.plan);
  OutputFile(directory_ / fmt::format("plan.{}", pid), true)
      .publish({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::string said =
      fmt::format("process {}: planned from {} iterations: {} moves, {} out and {} in an iteration", pid,
                  made.iterations, made.moves, format_bytes(made.bytes_out), format_bytes(made.bytes_in));
  if (options.route != trace::CopyRoute::Way::kDirect) {
    said += fmt::format("; contents go {}, {:.1f} GB/s in, {:.1f} GB/s out, {}",
                        route_text(std::string(trace::route_name(options.route))), link.rates.in,
                        link.rates.out, link.known_by);
  }
  console_.notice(said);
  job.done = ++job.plans >= kMostPlans;
}

}  // namespace tferry::cli
