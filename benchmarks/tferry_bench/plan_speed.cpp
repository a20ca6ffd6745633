#include "benchmarks/tferry_bench/plan_speed.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/placement/placement.hpp"
#include "analyzer/placement/random_plan_workload.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/workload/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <sys/resource.h>

namespace tferry::benchmarks {
namespace {

using namespace analyzer;

constexpr double kFactor = 1.5;
constexpr std::size_t kOperations = 10'000, kTensors = 3'000;
constexpr std::uint32_t kSeed = 1;

double wall_ns() {
  return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch() /
                             std::chrono::nanoseconds(1));
}

double thread_ns() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::int64_t largest_working_set(const Workload& workload) {
  const std::vector<std::int64_t> sets = working_sets(workload);
  return *std::max_element(sets.begin(), sets.end());
}

PlanSpeed measure(const std::string& job, const Workload& workload, int repeats,
                  const std::function<bool(const Plan&)>& place) {
  PlanSpeed speed;
  speed.job = job;
  speed.operations = workload.operations.size();
  speed.tensors = workload.tensors.size();
  Plan plan;
  for (int i = 0; i < repeats; ++i) {
    const double wall = wall_ns(), processor = thread_ns();
    plan = plan_lookahead(workload);
    speed.plan_ns.push_back(wall_ns() - wall);
    speed.processor_ns.push_back(thread_ns() - processor);
  }
  speed.actions = plan.actions.size();
  speed.over_bound = plan.predicted_ns / lower_bound(workload).time_ns;
  if (place) {
    const double wall = wall_ns();
    if (place(plan)) speed.place_ns = wall_ns() - wall;
  }
  return speed;
}

PlanSpeed random_job(int repeats) {
  PlanWorkload job = random_plan_workload(kSeed, kOperations, kTensors);
  const auto whole = static_cast<std::int64_t>(static_cast<double>(footprint(job.workload)) / kFactor);
  job.workload.budget =
      std::max(largest_working_set(job.workload), whole / job.chunk_bytes * job.chunk_bytes);
  // As make_placed_plan does: planned for 2 % less than there is to place it in.
  const auto chunks = static_cast<std::uint32_t>(job.workload.budget / job.chunk_bytes * 102 / 100);
  return measure("random", job.workload, repeats,
                 [&](const Plan& plan) { return place_plan(job, plan, chunks).has_value(); });
}

PlanSpeed transformer_job(int repeats) {
  TransformerShape shape;
  Workload workload;
  for (shape.layers = 100; workload.operations.size() < kOperations; shape.layers += 10)
    workload = transformer_training(shape);
  workload.budget = std::max(largest_working_set(workload),
                             static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / kFactor));
  return measure("transformer", workload, repeats, {});
}

}  // namespace

std::vector<PlanSpeed> plan_speeds(int repeats) { return {random_job(repeats), transformer_job(repeats)}; }

std::string plan_speed_text(const std::vector<PlanSpeed>& speeds) {
  std::string text =
      fmt::format("{:<12} {:>10} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10}\n", "job", "operations", "tensors",
                  "actions", "over bound", "seconds", "processor", "placing");
  for (const PlanSpeed& speed : speeds) {
    const auto median = [](std::vector<double> values) {
      std::sort(values.begin(), values.end());
      return values[values.size() / 2] * 1e-9;
    };
    text += fmt::format("{:<12} {:>10} {:>8} {:>8} {:>10.4f} {:>10.2f} {:>10.2f} {:>10}\n", speed.job,
                        speed.operations, speed.tensors, speed.actions, speed.over_bound,
                        median(speed.plan_ns), median(speed.processor_ns),
                        speed.place_ns == 0 ? "-" : fmt::format("{:.2f}", speed.place_ns * 1e-9));
  }
  return text;
}

std::string load_text() {
  double load[1] = {};
  const bool known = getloadavg(load, 1) == 1;
  return fmt::format("nice {}, load average {}", getpriority(PRIO_PROCESS, 0),
                     known ? fmt::format("{:.1f}", load[0]) : "unknown");
}

nlohmann::json plan_speed_measurements(const std::vector<PlanSpeed>& speeds, const std::string& command) {
  nlohmann::json all = nlohmann::json::array();
  for (const PlanSpeed& speed : speeds) {
    nlohmann::json checks = {{"operations", speed.operations},
                             {"tensors", speed.tensors},
                             {"actions", speed.actions},
                             {"over_bound", speed.over_bound},
                             {"processor_ns", speed.processor_ns}};
    if (speed.place_ns > 0) checks["place_seconds"] = speed.place_ns * 1e-9;
    all.push_back(
        {{"claim", "analyzer.plan_10000_operations/" + speed.job},
         {"kind", "measured"},
         {"metric", "time"},
         {"command", command},
         {"subject", {{"label", "from the workload to the plan"}, {"samples_ns", speed.plan_ns}}},
         {"checks", checks},
         {"note", fmt::format("wall clock of one thread, default effort, at {} times; two cores; {}", kFactor,
                              load_text())}});
  }
  return all;
}

}  // namespace tferry::benchmarks
