#include "cli/plan/planned_run.hpp"

#include "analyzer/session/flat_plan.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/output_file.hpp"
#include "cli/plan/open_plan.hpp"
#include "cli/plan/rank_plans.hpp"
#include "cli/plan/slot_rows.hpp"
#include "cli/plan/watched_run.hpp"
#include "cli/report/route_text.hpp"
#include "cli/session/build_session.hpp"
#include "cli/session/edit_session.hpp"
#include "trace/copy_route.hpp"
#include "trace/flat_plan.hpp"
#include "trace/job_environment.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <fstream>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWatchedBytes = std::int64_t{64} << 20;  ///< of each process, in memory

/// A device of a process under the plan.
struct PlannedDevice {
  const ProcessSummary* process;
  const DeviceSummary* device;
};

std::vector<PlannedDevice> planned_devices(const RunSummary& summary) {
  std::vector<PlannedDevice> planned;
  for (const ProcessSummary& process : summary.processes) {
    for (const DeviceSummary& device : process.devices) {
      if (device.counters.plan_state.value_or(0) != 0) planned.push_back({&process, &device});
    }
  }
  return planned;
}

Figure per_iteration(Figure sum, Figure iterations) {
  return sum && iterations.value_or(0) > 0 ? Figure(*sum / *iterations) : std::nullopt;
}

trace::RunRow run_row(const trace::PlanRow& plan, const DeviceSnapshot& counters) {
  trace::RunRow row;
  row.plan_id = plan.id;
  row.process_id = plan.process_id;
  row.device_id = plan.device_id;
  row.policy = plan.planner;
  row.budget_bytes = counters.budget;
  row.peak_bytes = counters.resident_peak;
  row.iterations = counters.plan_iterations;
  row.iterations_followed = counters.plan_iterations_followed;
  row.iteration_ns = per_iteration(counters.plan_measured_ns, counters.plan_iterations_timed);
  row.route = route_taken_name(counters.route);
  if (counters.by_planned_route()) {
    row.predicted_ns = plan.predicted_ns;
    row.bound_ns = plan.bound_ns;
  }
  row.in_memory_ns = plan.in_memory_ns;
  row.forced_bytes = plan.forced_bytes;
  row.actions_planned = counters.plan_actions_due;
  row.actions_used = counters.plan_actions_done;
  if (counters.plan_operations.value_or(0) > 0 && counters.plan_matched)
    row.followed =
        static_cast<double>(*counters.plan_matched) / static_cast<double>(*counters.plan_operations);
  row.bytes_in = per_iteration(counters.plan_bytes_in, counters.plan_iterations_followed);
  row.bytes_out = per_iteration(counters.plan_bytes_out, counters.plan_iterations_followed);
  row.late_fetches = counters.plan_late_fetches;
  row.departures = counters.plan_departures;
  row.mappings = counters.plan_mappings;
  return row;
}

/// What iterations that were not exactly the plan's took.
void keep_off_plan(trace::SessionWriter& writer, const DeviceSnapshot& counters) {
  const Figure ns = per_iteration(counters.plan_off_ns, counters.plan_off_timed);
  if (!ns) return;
  writer.set_meta("off_plan.iterations", std::to_string(*counters.plan_off_timed));
  writer.set_meta("off_plan.iteration_ns", std::to_string(*ns));
  writer.set_meta("on_plan.iterations", std::to_string(counters.plan_iterations_timed.value_or(0)));
}

/// As the runtime library reads it.
void write_flat(const analyzer::StoredPlan& stored, const std::string& name, const fs::path& file) {
  const trace::FlatPlan flat = analyzer::make_flat_plan(stored.rank, stored.placed, stored.row, name);
  if (const std::string error = trace::flat_plan_error(flat); !error.empty())
    throw Failure(name + " cannot be written for the run: " + error, "report this defect with the session");
  const std::vector<std::byte> bytes = trace::encode_flat_plan(flat);
  OutputFile(file, false).publish({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::optional<std::int64_t> budget_of(const Budget& budget, int device) {
  if (budget.kind() == Budget::Kind::kBytes) return budget.amount();
  for (const Budget::Share& share : budget.shares()) {
    if (share.device == device) return share.bytes;
  }
  return std::nullopt;
}

PlannedRun::PlannedRun(const std::string& plan, bool by_rank)
    : reference_(find_plan(plan)), stored_(open_plan(reference_)), name_(plan_name(reference_, stored_)) {
  if (!by_rank) return;
  const std::vector<PlanReference> plans = find_rank_plans(reference_);
  for (std::size_t r = 1; r < plans.size(); ++r) others_.push_back(open_plan(plans[r]));
}

std::string PlannedRun::describe() const {
  const std::string more =
      others_.empty() ? "" : fmt::format("; other plans for {} more ranks", others_.size());
  return fmt::format("{}: {}{}", name_, cli::describe(stored_), more);
}

std::string PlannedRun::link() const { return planned_link(stored_); }

analyzer::Coordination PlannedRun::best_coordination(const analyzer::RankLayout& layout) const {
  return analyzer::choose_coordination(stored_.placed.workload.workload, stored_.placed.plan, nullptr, layout,
                                       {});
}

std::string PlannedRun::settle(JobSettings& settings, bool budget_given) const {
  if (settings.memory != "explicit")
    throw Failure("--plan moves memory itself, and --memory managed leaves that to the driver",
                  "leave one of them out");
  if (!settings.policy.empty())
    throw Failure("--plan says what leaves when, and --policy too", "leave one of them out");
  const auto chunk = static_cast<std::int64_t>(stored_.placed.rules.chunk);
  if (settings.chunk.value_or(chunk) != chunk) {
    throw Failure(fmt::format("--chunk: {} is for chunks of {} bytes", name_, chunk),
                  "leave --chunk out, or make a plan with tferry analyze --chunk");
  }
  if (!budget_given) {
    settings.budget = Budget::parse(std::to_string(budget_bytes()));
  } else if (const auto given = budget_of(settings.budget, static_cast<int>(stored_.ordinal));
             given && *given < budget_bytes()) {
    throw Failure(fmt::format("--budget: {} is made for {}, more than the {} given", name_,
                              format_bytes_exact(budget_bytes()), format_bytes_exact(*given)),
                  fmt::format("make a plan for it: tferry analyze --budget {} {}", *given,
                              reference_.session.string()));
  }
  settings.chunk = chunk;
  settings.movable = static_cast<std::int64_t>(stored_.placed.rules.movable);
  const std::string planned(trace::route_name(stored_.rank.route));
  if (settings.route.empty() && planned != "direct") settings.route = planned;
  const auto other = way_not_planned(settings.route);
  if (!other) return "";
  return fmt::format(
      "{} is for contents that go {}, and --route {} has them go {}: its prediction and bound are not "
      "compared; "
      "for a plan of that way: tferry analyze --route {} {}",
      name_, route_text(planned), settings.route, route_text(std::string(trace::route_name(*other))),
      trace::route_name(*other), reference_.session.string());
}

/// The way of the first rank whose contents do not go as the plan has it.
std::optional<trace::CopyRoute::Way> PlannedRun::way_not_planned(const std::string& routes) const {
  const auto ranks = 1 + std::count(routes.begin(), routes.end(), ',');
  for (int rank = 0; !routes.empty() && rank < ranks; ++rank) {
    const auto route = trace::parse_copy_route(routes, rank);
    if (route && route->way != stored_.rank.route) return route->way;
  }
  return std::nullopt;
}

void PlannedRun::hand_over(const fs::path& run_directory, Environment& environment) const {
  const fs::path file = run_directory / "flat.plan";
  if (others_.empty()) {
    write_flat(stored_, name_, file);
  } else {
    for (std::size_t r = 0; r <= others_.size(); ++r) {
      const analyzer::StoredPlan& own = r == 0 ? stored_ : others_[r - 1];
      write_flat(own, plan_name(reference_, own), fs::path(file) += fmt::format(".{}", r));
    }
    environment.set(trace::environment::kRankPlans, std::to_string(others_.size() + 1));
  }
  environment.set(trace::environment::kPlan, file.string());
}

void PlannedRun::keep_prediction(const fs::path& session, bool force) {
  trace::SessionWriter writer =
      trace::SessionWriter::create(session.string(), {.force = force, .build_directory = ""});
  trace::PlanRow plan = stored_.row;
  writer.insert(trace::ProcessRow{.id = plan.process_id});
  trace::DeviceRow device;
  device.id = plan.device_id.value_or(1);
  writer.insert(device);
  writer.insert(trace::ProcessDeviceRow{
      .process_id = plan.process_id, .ordinal = stored_.ordinal, .device_id = device.id});
  insert_plan(writer, stored_, plan);
  writer.publish();
  session_ = session;
}

/// Where the plan comes from, and all of it, for the process and GPU that `plan` says.
std::int64_t PlannedRun::insert_plan(trace::SessionWriter& writer, const analyzer::StoredPlan& stored,
                                     trace::PlanRow plan) const {
  writer.set_meta("recorded_by", "tferry run --plan");
  writer.set_meta("plan.session", fs::absolute(reference_.session).string());
  writer.set_meta("plan.number", std::to_string(stored_.row.id));
  plan.name = plan_name(reference_, stored);
  return analyzer::insert_plan(writer, plan, stored.rank, stored.placed, {});
}

void PlannedRun::watch(const fs::path& run_directory, Environment& environment) const {
  if (!session_ || environment.get(trace::environment::kWatch) == "0") return;
  std::ofstream(run_directory / RunDirectory::kPassing) << "watched under a plan\n";
  environment.set(trace::environment::kRecord, "1");
  environment.set(trace::environment::kWatch, "1");
  environment.set(trace::environment::kSpoolLimit, std::to_string(kWatchedBytes));
}

void PlannedRun::keep_outcome(const RunSummary& summary, const fs::path& run_directory) const {
  if (!session_) return;
  const std::vector<PlannedDevice> planned = planned_devices(summary);
  std::optional<WatchedRun> watched;
  std::vector<std::optional<WatchedRun::Figures>> figures;
  std::string unknown = "nothing was recorded of the run";
  const std::vector<std::string> spools = find_spools(run_directory);
  if (!planned.empty() && !spools.empty()) {
    try {
      std::vector<WatchedRun::Gpu> gpus;
      std::vector<ProcessSnapshot> processes;
      for (const PlannedDevice& of : planned) {
        gpus.push_back({of.process->process.pid, of.device->counters.device});
        processes.push_back(of.process->process);
      }
      watched.emplace(spools, *session_, processes);
      figures = watched->analyze(gpus, plans());
    } catch (const std::exception& error) {  // what was counted is kept all the same
      unknown = error.what();
      figures.clear();
    }
  }
  const bool any = std::any_of(figures.begin(), figures.end(), [](const auto& of) { return of.has_value(); });
  edit_session(any ? watched->path() : *session_, *session_, true, [&](trace::SessionWriter& writer) {
    writer.set_meta("job.end", summary.end.signalled ? fmt::format("signal {}", summary.end.code)
                                                     : fmt::format("exit code {}", summary.end.code));
    writer.set_meta("job.duration_ns", std::to_string(summary.end.duration_ns));
    keep_slot_use(writer, summary);
    keep_slots(writer, run_directory);
    if (planned.empty()) return;
    keep_off_plan(writer, planned.front().device->counters);
    for (std::size_t i = 0; any && i < planned.size(); ++i) {
      if (figures[i]) keep_watched(writer, planned[i].device->counters, *figures[i]);
    }
    if (any) return;
    writer.set_meta("watched.unknown", unknown);
    writer.clear<trace::ProcessRow>();
    const ProcessSnapshot& process = planned.front().process->process;
    trace::ProcessRow row{.id = stored_.row.process_id, .pid = process.pid};
    row.command = process.command;
    row.start_ns = process.started_ns;
    row.end_ns = process.ended_ns;
    writer.insert(row);
    writer.insert(run_row(stored_.row, planned.front().device->counters));
  });
}

/// The plan that a GPU followed, what became of it, and which part of the job was recorded.
void PlannedRun::keep_watched(trace::SessionWriter& writer, const DeviceSnapshot& counters,
                              const WatchedRun::Figures& figures) const {
  const analyzer::StoredPlan& stored = *plans()[figures.plan];
  trace::PlanRow plan = stored.row;
  if (writer.database().integer("SELECT count(*) FROM plan") > 0) plan.id = 0;  // the next one
  plan.process_id = figures.process_id;
  plan.device_id = figures.device_id;
  plan.id = insert_plan(writer, stored, plan);
  trace::RunRow run = run_row(plan, counters);
  run.wait_ns = figures.wait_ns;
  if (!run.iteration_ns) run.iteration_ns = figures.iteration_ns;
  if (!run.in_memory_ns) run.in_memory_ns = figures.in_memory_ns;
  writer.insert(run);
  if (figures.iterations == 0) return;
  writer.insert(trace::RecordedRangeRow{.process_id = figures.process_id,
                                        .number = 0,
                                        .what = "iterations under the plan",
                                        .start_ns = figures.from_ns,
                                        .end_ns = figures.to_ns});
}

/// By local rank.
std::vector<const analyzer::StoredPlan*> PlannedRun::plans() const {
  std::vector<const analyzer::StoredPlan*> plans = {&stored_};
  for (const analyzer::StoredPlan& other : others_) plans.push_back(&other);
  return plans;
}

}  // namespace tferry::cli
