// The simulation of a placed plan's queues, which makes every stored prediction, against a second one that
// walks in small steps of time and shares no code with it.
#include "analyzer/placement/placement.hpp"
#include "analyzer/placement/program_ticks.hpp"
#include "analyzer/placement/random_plan_workload.hpp"
#include "analyzer/placement/schedule_builder.hpp"
#include "analyzer/planner/lookahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tferry::analyzer {
namespace {

class SmallSteps {
 public:
  SmallSteps(const Workload& workload, const Schedule& schedule, double latency_ns, double step_ns)
      : workload_(workload),
        schedule_(schedule),
        latency_ns_(latency_ns),
        step_(step_ns),
        count_(static_cast<int>(workload.operations.size())),
        left_(kIterations, std::vector<bool>(schedule.leaves.size())),
        returned_(kIterations, std::vector<bool>(schedule.returns.size())) {}

  /// From the start of the fourth iteration to that of the fifth; the first begins with everything in place.
  /// Nothing: it waits for ever.
  std::optional<double> run() {
    while (static_cast<int>(starts_.size()) <= 4 * count_) {
      begin_what_can();
      if (!busy_ && idle_ <= 0 && !out_.there && !in_.there) return std::nullopt;
      advance();
    }
    const auto start = [&](int iteration) { return starts_[static_cast<std::size_t>(iteration * count_)]; };
    return start(4) - start(3);
  }

 private:
  static constexpr int kIterations = 6;
  struct Copy {
    bool there = false;
    int iteration = 0;
    std::size_t number = 0;
    double left = 0;
  };

  bool has_happened(const Predecessor& what, int iteration) const {
    iteration += what.shift;
    if (iteration < 0) return true;
    if (what.kind == Predecessor::Kind::kLeave)
      return iteration < kIterations && left_[static_cast<std::size_t>(iteration)][what.index];
    return ended_ > iteration * count_ + static_cast<int>(what.index);
  }
  bool have_happened(const std::vector<Predecessor>& all, int iteration) const {
    return std::all_of(all.begin(), all.end(), [&](const auto& one) { return has_happened(one, iteration); });
  }

  bool operation_can_begin() const {
    const int at = ended_ % count_, iteration = ended_ / count_;
    for (std::size_t r = 0; r < schedule_.returns.size(); ++r) {
      const int needed = static_cast<int>(schedule_.returns[r].needed);
      const int of = iteration - needed / count_;
      if (needed % count_ == at && of >= 0 && !returned_[static_cast<std::size_t>(of)][r]) return false;
    }
    return std::all_of(schedule_.first_uses.begin(), schedule_.first_uses.end(), [&](const FirstUse& use) {
      const int operation = static_cast<int>(use.operation);
      return operation % count_ != at || have_happened(use.after, iteration - operation / count_);
    });
  }

  void begin_what_can() {
    if (!busy_ && idle_ <= 0 && operation_can_begin()) {
      busy_ = true;
      work_ =
          static_cast<double>(workload_.operations[static_cast<std::size_t>(ended_ % count_)].duration_ns);
      starts_.push_back(now_);
    }
    if (!out_.there && out_.iteration < kIterations && !schedule_.leaves.empty()) {
      const LeaveTransfer& leave = schedule_.leaves[out_.number];
      if (ended_ > out_.iteration * count_ + static_cast<int>(leave.after)) {
        out_.there = true;
        out_.left = static_cast<double>(leave.bytes) + latency_ns_ * workload_.link.out;
      }
    }
    while (!in_.there && submitted_ < kIterations * schedule_.submissions.size()) {
      const Submission& next = schedule_.submissions[submitted_ % schedule_.submissions.size()];
      const int of = static_cast<int>(submitted_ / schedule_.submissions.size()) - next.shift;
      const ReturnTransfer& back = schedule_.returns[next.transfer];
      if (of >= 0 && !have_happened(back.after, of)) break;
      ++submitted_;
      if (of < 0) continue;
      in_ = {true, of, next.transfer, static_cast<double>(back.bytes) + latency_ns_ * workload_.link.in};
    }
  }

  void advance() {
    double time = step_;
    if (busy_) time = std::min(time, work_);
    if (idle_ > 0) time = std::min(time, idle_);
    now_ += time;
    idle_ -= time;
    const bool both = in_.there && out_.there;
    if (out_.there && (out_.left -= time * (both ? workload_.link.duplex_out : workload_.link.out)) <= 0) {
      left_[static_cast<std::size_t>(out_.iteration)][out_.number] = true;
      const bool last = out_.number + 1 == schedule_.leaves.size();
      out_ = {false, out_.iteration + (last ? 1 : 0), last ? 0 : out_.number + 1, 0};
    }
    if (in_.there && (in_.left -= time * (both ? workload_.link.duplex_in : workload_.link.in)) <= 0) {
      returned_[static_cast<std::size_t>(in_.iteration)][in_.number] = true;
      in_.there = false;
    }
    if (busy_ && (work_ -= time) <= 0) {
      busy_ = false;
      ++ended_;
      idle_ = static_cast<double>(workload_.operations[static_cast<std::size_t>(ended_ % count_)].gap_ns);
    }
  }

  const Workload& workload_;
  const Schedule& schedule_;
  double latency_ns_, step_;
  int count_;
  std::vector<std::vector<bool>> left_, returned_;  ///< by iteration and transfer
  Copy out_, in_;
  std::size_t submitted_ = 0;
  int ended_ = 0;  ///< operations
  bool busy_ = false;
  double now_ = 0, work_ = 0, idle_ = 0;
  std::vector<double> starts_;
};

/// When everything happens if nothing waits, for the search for places.
TickTimes times_without_waits(const Workload& workload, const ProgramTicks& ticks) {
  std::vector<double> starts{0};
  for (const Operation& operation : workload.operations)
    starts.push_back(starts.back() + static_cast<double>(operation.gap_ns + operation.duration_ns));
  TickTimes times;
  for (std::uint32_t tick = 0; tick < ticks.total(); ++tick) {
    const std::uint32_t operation = ticks.operation(tick);
    times.at_ns.push_back(starts[operation + (tick == ticks.after(operation) ? 1 : 0)]);
  }
  times.iteration_ns = starts.back();
  return times;
}

/// The schedule of a random job under a plan for its budget, in a few chunks more than it needs; nothing
/// where it finds no places or nothing moves.
std::optional<Schedule> schedule_of(const PlanWorkload& job, const SimulationOptions& options) {
  LookaheadOptions how;
  how.rounds = 4;
  how.simulation = options;
  const Plan plan = plan_lookahead(job.workload, how);
  const ProgramTicks ticks(job);
  const std::vector<Part> parts = split_into_parts(job, ticks, plan, options.chunk_bytes);
  const std::uint32_t chunks = chunks_needed(job, plan) * 11 / 10 + 1;
  const auto coloring = color(parts, chunks, times_without_waits(job.workload, ticks), {});
  if (!coloring) return std::nullopt;
  Schedule schedule = build_schedule(job, parts, *coloring, options).schedule;
  schedule.submissions = order_returns(job.workload, schedule, options);
  if (schedule.leaves.empty()) return std::nullopt;
  return schedule;
}

TEST(QueueOracle, AgreesOnTwoHundredPlacedPlans) {
  std::string failed;
  double worst = 0;
  int compared = 0;
  for (std::uint32_t seed = 0; compared < 200; ++seed) {
    ASSERT_LT(seed, 2000u) << "too few jobs have a plan with places";
    std::mt19937 random(seed);
    PlanWorkload job = random_plan_workload(random(), 6 + random() % 14, 4 + random() % 12);
    for (Operation& operation : job.workload.operations) {
      if (random() % 4 == 0) operation.gap_ns = static_cast<std::int64_t>(random() % 300'000);
    }
    SimulationOptions options;
    options.chunk_bytes = job.chunk_bytes * static_cast<std::int64_t>(1 + random() % 4);
    options.chunk_latency_ns = static_cast<double>(random() % 3 * 4000);
    const auto schedule = schedule_of(job, options);
    if (!schedule) continue;
    ++compared;
    const double fast = simulate_queues(job.workload, *schedule, options).time_ns;
    double difference = 1;
    for (const double step : {400.0, 100.0, 25.0}) {
      const auto slow = SmallSteps(job.workload, *schedule, options.chunk_latency_ns, step).run();
      ASSERT_TRUE(slow) << "seed " << seed << ": it waits for itself";
      difference = std::abs(fast - *slow) / std::max(*slow, 1.0);
      if (difference <= 0.005) break;
    }
    worst = std::max(worst, difference);
    if (difference > 0.005) failed += " " + std::to_string(seed) + ": " + std::to_string(difference);
  }
  EXPECT_EQ(failed, "") << "seeds and differences";
  RecordProperty("worst", std::to_string(worst));
}

}  // namespace
}  // namespace tferry::analyzer
