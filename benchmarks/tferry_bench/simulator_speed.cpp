#include "benchmarks/tferry_bench/simulator_speed.hpp"

#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>

namespace tferry::benchmarks {
namespace {

using namespace analyzer;

constexpr double kFactor = 1.5;
constexpr int kPlanRounds = 20;
const char* const kPolicies[] = {"on-demand", "lms", "lms-early"};

double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

SimulatorSpeed measure(const std::string& job, const Workload& workload, const std::string& policy,
                       int repeats, const std::function<std::unique_ptr<Policy>()>& make) {
  SimulatorSpeed speed{job, policy, 0, std::numeric_limits<double>::infinity(), true};
  std::vector<double> starts_ns;
  for (int i = 0; i < repeats; ++i) {
    const double begin = thread_seconds();
    const std::unique_ptr<Policy> fresh = make();
    Simulation simulation = simulate(workload, *fresh);
    speed.seconds = std::min(speed.seconds, thread_seconds() - begin);
    if (i > 0) speed.same = speed.same && starts_ns == simulation.starts_ns;
    speed.events = simulation.events;
    starts_ns = std::move(simulation.starts_ns);
  }
  return speed;
}

}  // namespace

std::vector<SimulatorSpeed> simulator_speeds(const std::vector<PlannedJob>& jobs, int repeats) {
  std::vector<SimulatorSpeed> speeds;
  for (const PlannedJob& job : jobs) {
    Workload workload = job.workload;
    workload.budget = static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / kFactor);
    for (const char* name : kPolicies)
      speeds.push_back(
          measure(job.name, workload, name, repeats, [&] { return make_policy(name, workload); }));
    LookaheadOptions options;
    options.rounds = kPlanRounds;
    const Plan plan = plan_lookahead(workload, options);
    const Uses uses(workload);
    speeds.push_back(measure(job.name, workload, "lookahead", repeats,
                             [&] { return std::make_unique<PlanPolicy>(workload, uses, plan); }));
  }
  return speeds;
}

nlohmann::json speed_measurements(const std::vector<SimulatorSpeed>& speeds, const std::string& command) {
  double events = 0, seconds = 0;
  nlohmann::json checks = {{"deterministic", true}};
  for (const SimulatorSpeed& speed : speeds) {
    events += static_cast<double>(speed.events);
    seconds += speed.seconds;
    checks["events_per_second"][speed.job][speed.policy] = static_cast<double>(speed.events) / speed.seconds;
    if (!speed.same) checks["deterministic"] = false;
  }
  return {
      {{"claim", "analyzer.simulator_events_per_second"},
       {"kind", "measured"},
       {"metric", "value"},
       {"command", command},
       {"subject", {{"label", "simulated events per second of one core"}, {"samples", {events / seconds}}}},
       {"checks", checks},
       {"note",
        "ends of operations, of idle times and of transfers, over the processor time of whole "
        "simulations from the workload to the result, all jobs and policies together"}}};
}

}  // namespace tferry::benchmarks
