#include "analyzer/placement/placement.hpp"

#include "analyzer/placement/coloring.hpp"
#include "analyzer/placement/copy_times.hpp"
#include "analyzer/placement/presence.hpp"
#include "analyzer/placement/schedule_builder.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/workload/uses.hpp"

#include <algorithm>
#include <limits>

namespace tferry::analyzer {
namespace {

constexpr double kCloseEnough = 0.002;  // of the time that the plan takes with bytes in any chunk
constexpr int kMostRounds = 4;          // each places anew by the times that the best so far takes

TickTimes tick_times(const ProgramTicks& ticks, const std::vector<double>& starts_ns,
                     const std::vector<double>& ends_ns, double iteration_ns) {
  TickTimes times{{}, iteration_ns};
  double now = 0;
  for (std::uint32_t tick = 0; tick < ticks.total(); ++tick) {
    const std::uint32_t operation = ticks.operation(tick);
    // Memory events count as soon as the operation before them is over.
    if (tick == ticks.before(operation)) now = std::max(now, starts_ns[operation]);
    if (tick == ticks.after(operation)) now = std::max(now, ends_ns[operation]);
    times.at_ns.push_back(now);
  }
  times.iteration_ns = std::max(times.iteration_ns, now);
  return times;
}

class Placer {
 public:
  Placer(const PlanWorkload& workload, const Plan& plan, std::uint32_t chunks,
         const SimulationOptions& options)
      : workload_(workload),
        chunks_(chunks),
        options_(options),
        ticks_(workload),
        parts_(split_into_parts(workload, ticks_, plan, options.chunk_bytes)),
        times_(expected_times(plan)) {}

  std::optional<Placement> search() {
    const double goal_ns = times_.iteration_ns * (1 + kCloseEnough);
    for (int round = 0; round < kMostRounds; ++round) {
      const double before_ns = best_ ? best_->simulated.time_ns : std::numeric_limits<double>::infinity();
      expect_copies(parts_, times_, workload_.workload.link, round > 0, workload_.chunk_bytes);
      for (const double share : {0.005, 0.02, 0.0}) {
        for (const bool long_first : {false, true}) {
          attempt({share * times_.iteration_ns, long_first});
          if (best_ && best_->simulated.time_ns <= goal_ns) return std::move(best_);
        }
        if (!best_) return std::nullopt;  // room is what is lacking, not time
      }
      if (best_->simulated.time_ns >= before_ns) break;
      const QueueSimulation& known = best_->simulated;
      times_ = tick_times(ticks_, known.starts_ns, known.ends_ns, known.time_ns);
    }
    return std::move(best_);
  }

 private:
  TickTimes expected_times(const Plan& plan) const {
    const Uses uses(workload_.workload);
    PlanPolicy policy(workload_.workload, uses, plan);
    const Simulation simulation = simulate(workload_.workload, policy, options_);
    const std::size_t count = workload_.workload.operations.size();
    std::vector<double> starts(simulation.starts_ns.end() - static_cast<std::ptrdiff_t>(count) - 1,
                               simulation.starts_ns.end() - 1);
    std::vector<double> ends;
    const double first = starts.front();
    for (std::size_t i = 0; i < count; ++i) {
      starts[i] -= first;
      ends.push_back(starts[i] + static_cast<double>(workload_.workload.operations[i].duration_ns));
    }
    return tick_times(ticks_, starts, ends, simulation.time_ns);
  }

  void attempt(const ColoringOptions& how) {
    const std::optional<Coloring> coloring = color(parts_, chunks_, times_, how);
    if (!coloring) return;
    BuiltSchedule built = build_schedule(workload_, parts_, *coloring, options_);
    built.schedule.submissions = order_returns(workload_.workload, built.schedule, options_);
    QueueSimulation simulated = simulate_queues(workload_.workload, built.schedule, options_);
    if (best_ && simulated.time_ns >= best_->simulated.time_ns) return;
    best_ = placement(*coloring, built, std::move(simulated));
  }

  Placement placement(const Coloring& coloring, const BuiltSchedule& built, QueueSimulation simulated) const {
    Placement placed;
    placed.simulated = std::move(simulated);
    placed.places.resize(workload_.workload.tensors.size());
    for (std::uint32_t t = 0; t < placed.places.size(); ++t) placed.places[t].resize(workload_.pieces(t));
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      std::copy(coloring.chunks[p].begin(), coloring.chunks[p].end(),
                placed.places[parts_[p].tensor].begin() + parts_[p].first);
    }
    for (std::size_t c = 0; c < coloring.lines.size(); ++c) {
      if (!coloring.lines.of_chunk(c).empty()) placed.chunks = static_cast<std::uint32_t>(c + 1);
    }
    placed.leaves = built.leaves;
    for (const Submission& submission : built.schedule.submissions) {
      placed.returns.push_back(built.returns[submission.transfer]);
      placed.returns.back().position = submission.position;
    }
    for (const LeaveTransfer& leave : built.schedule.leaves) placed.bytes_out += leave.bytes;
    for (const ReturnTransfer& back : built.schedule.returns) placed.bytes_in += back.bytes;
    return placed;
  }

  const PlanWorkload& workload_;
  std::uint32_t chunks_;
  SimulationOptions options_;
  ProgramTicks ticks_;
  std::vector<Part> parts_;
  TickTimes times_;
  std::optional<Placement> best_;
};

}  // namespace

std::optional<Placement> place_plan(const PlanWorkload& workload, const Plan& plan, std::uint32_t chunks,
                                    const SimulationOptions& options) {
  return Placer(workload, plan, chunks, options).search();
}

std::uint32_t chunks_needed(const PlanWorkload& workload, const Plan& plan) {
  const ProgramTicks ticks(workload);
  std::vector<std::int64_t> change(ticks.total());
  std::int64_t now = 0;
  for (const Part& part : split_into_parts(workload, ticks, plan, workload.chunk_bytes)) {
    for (const Presence& presence : part.presences) {
      change[presence.begin % ticks.total()] += part.count;
      change[presence.end % ticks.total()] -= part.count;
      // What is there when the iteration begins, or goes with its first tick.
      const std::uint32_t begin = presence.begin % ticks.total();
      if (begin + (presence.end - presence.begin) >= ticks.total()) now += part.count;
    }
  }
  std::int64_t most = 0;
  for (const std::int64_t by : change) most = std::max(most, now += by);
  return static_cast<std::uint32_t>(most);
}

}  // namespace tferry::analyzer
