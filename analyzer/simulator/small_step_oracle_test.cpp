// The event-driven simulator against a second one that walks in small steps of time (small_step_oracle.hpp).
// Where the two differ, the steps are made smaller: what is left then is a difference of the models.
#include "analyzer/simulator/small_step_oracle.hpp"

#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"
#include "analyzer/simulator/ranks.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/workload/random_workload.hpp"
#include "analyzer/workload/uses.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

namespace tferry::analyzer {
namespace {

using small_steps::kBlock;
using small_steps::Rule;

constexpr std::uint32_t kCases = 200;
constexpr double kAgree = 0.005;
const double kSteps[] = {400, 100, 25};

/// Counts cases in which oracle and simulator differ, however small the steps.
class Comparison {
 public:
  void add(std::uint32_t seed, double fast, small_steps::Case one) {
    double difference = 0;
    for (const double step : kSteps) {
      one.step_ns = step;
      const double slow = small_steps::Job(one).run();
      difference = std::abs(fast - slow) / std::max(slow, 1.0);
      if (difference <= kAgree) break;
    }
    worst_ = std::max(worst_, difference);
    ++cases_;
    if (difference > kAgree) failed_ += " " + std::to_string(seed) + ": " + std::to_string(difference);
  }
  void expect(std::uint32_t cases) const {
    EXPECT_EQ(failed_, "") << "seeds and differences";
    EXPECT_EQ(cases_, cases);
    testing::Test::RecordProperty("worst", std::to_string(worst_));
  }

 private:
  std::uint32_t cases_ = 0;
  double worst_ = 0;
  std::string failed_;
};

/// In whole blocks, and idle times before some operations.
Workload whole_blocks(std::uint32_t seed, std::size_t operations, std::size_t tensors) {
  constexpr std::int64_t kWhole = 16 * kBlock;  // so that a sixteenth is whole blocks, too
  Workload workload = random_workload(seed, operations, tensors);
  workload.budget = (workload.budget + kWhole - 1) / kWhole * kWhole;
  std::mt19937 random(seed + 1);
  for (Operation& operation : workload.operations) {
    if (random() % 4 == 0) operation.gap_ns = static_cast<std::int64_t>(random() % 300'000);
  }
  return workload;
}

struct SmallCase {
  Workload workload;
  SimulationOptions options;
};

SmallCase small_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  SmallCase one;
  one.workload = whole_blocks(random(), 2 + random() % 8, 1 + random() % 10);
  if (seed % 4 == 0) one.workload.link.reached = 0.75;  // copies in two parts of which one is late
  one.options = {.chunk_bytes = kBlock * static_cast<std::int64_t>(4 + random() % 30),
                 .chunk_latency_ns = static_cast<double>(random() % 3 * 4000),
                 .run_ahead = 1 + random() % 3,
                 .iterations = 4};
  return one;
}

/// So many operations that some tensors are not used for as long as lms wants.
SmallCase long_case(std::uint32_t seed) {
  SmallCase one = small_case(seed);
  std::mt19937 random(seed);
  one.workload = whole_blocks(random(), 150 + random() % 100, 6 + random() % 14);
  for (Operation& operation : one.workload.operations) operation.duration_ns /= 40, operation.gap_ns /= 40;
  return one;
}

small_steps::Case alone(const SmallCase& one, const Workload& workload, Rule rule, int run_ahead) {
  small_steps::Case all;
  all.ranks = {{&workload, rule, nullptr, run_ahead, 0}};
  all.links = {workload.link};
  all.chunk_bytes = one.options.chunk_bytes;
  all.latency_ns = one.options.chunk_latency_ns;
  all.rounds = one.options.iterations;
  all.measured = one.options.measured;
  return all;
}

void compare_policy(const std::string& name, Rule rule, bool long_ones) {
  Comparison comparison;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    const SmallCase one = long_ones && seed % 2 == 1 ? long_case(seed) : small_case(seed);
    const Workload workload = workload_under(name, one.workload);
    const std::unique_ptr<Policy> policy = make_policy(name, workload);
    const auto run_ahead = static_cast<int>(policy->run_ahead(one.options.run_ahead));
    const double fast = simulate(workload, *policy, one.options).time_ns;
    comparison.add(seed, fast, alone(one, workload, rule, run_ahead));
  }
  comparison.expect(kCases);
}

TEST(SmallStepOracle, AgreesOnDemand) { compare_policy("on-demand", Rule::kOnDemand, false); }
TEST(SmallStepOracle, AgreesOnLms) { compare_policy("lms", Rule::kLms, true); }
TEST(SmallStepOracle, AgreesOnLmsEarly) { compare_policy("lms-early", Rule::kLmsEarly, false); }
TEST(SmallStepOracle, AgreesOnManagedMemory) { compare_policy("naive-um", Rule::kOnDemand, false); }
TEST(SmallStepOracle, AgreesOnPump) { compare_policy("pump", Rule::kLms, true); }

Plan planned(const Workload& workload, const SimulationOptions& simulation) {
  LookaheadOptions options;
  options.rounds = 6;
  options.simulation = simulation;
  return plan_lookahead(workload, options);
}

TEST(SmallStepOracle, AgreesOnPlans) {
  Comparison comparison;
  std::size_t moving = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    const SmallCase one = small_case(seed);
    const Plan plan = planned(one.workload, one.options);
    moving += plan.actions.empty() ? 0 : 1;
    const Uses uses(one.workload);
    PlanPolicy policy(one.workload, uses, plan);
    const double fast = simulate(one.workload, policy, one.options).time_ns;
    small_steps::Case all = alone(one, one.workload, Rule::kPlan, 1);
    all.ranks[0].plan = &plan;
    comparison.add(seed, fast, all);
  }
  comparison.expect(kCases);
  EXPECT_GT(moving, kCases / 2);
}

/// Two to four ranks, alike or not, on one link or two, some under a plan, some under a policy.
void compare_ranks(Sharing sharing, double skew) {
  Comparison comparison;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    std::mt19937 random(seed);
    const std::size_t count = 2 + random() % 3, links = 1 + (count > 2 ? random() % 2 : 0);
    const bool alike = random() % 2 == 0;
    SmallCase first = small_case(seed);
    first.workload.link.reached = 1;  // ways by a neighbour's link need an idle neighbour
    std::vector<Workload> workloads;
    std::vector<Plan> plans;
    for (std::size_t r = 0; r < count; ++r) {
      workloads.push_back(alike ? first.workload
                                : small_case(seed + 1000 * static_cast<std::uint32_t>(r)).workload);
      workloads.back().link.reached = 1;
      // Some GPUs have fewer lanes than the link behind them.
      if (!alike && random() % 3 == 0) {
        LinkRates& own = workloads.back().link;
        own = {own.in / 2, own.out / 2, own.duplex_in / 2, own.duplex_out / 2};
      }
      plans.push_back(planned(workloads.back(), first.options));
    }
    RankOptions options;
    options.simulation = first.options;
    options.links.assign(links, first.workload.link);
    options.sharing = sharing;
    options.skew = skew;
    options.iterations_per_round = 1 + random() % 3;
    options.rounds = 3;
    small_steps::Case all = alone(first, first.workload, Rule::kOnDemand, 1);
    all.ranks.clear();
    all.links = options.links;
    all.sharing = sharing;
    all.skew = skew;
    all.iterations_per_round = static_cast<int>(options.iterations_per_round);
    all.rounds = options.rounds;
    all.measured = (all.rounds + 1) / 2 * all.iterations_per_round;
    std::vector<std::unique_ptr<Uses>> uses;
    std::vector<std::unique_ptr<Policy>> policies;
    std::vector<SimulatedRank> ranks;
    for (std::size_t r = 0; r < count; ++r) {
      const std::uint32_t kind = random() % 3;
      uses.push_back(std::make_unique<Uses>(workloads[r]));
      if (kind == 0)
        policies.push_back(std::make_unique<PlanPolicy>(workloads[r], *uses[r], plans[r]));
      else
        policies.push_back(make_policy(kind == 1 ? "on-demand" : "lms-early", workloads[r]));
      ranks.push_back({&workloads[r], policies[r].get(), r % links});
      const Rule rule = kind == 0 ? Rule::kPlan : kind == 1 ? Rule::kOnDemand : Rule::kLmsEarly;
      all.ranks.push_back(
          {&workloads[r], rule, &plans[r], static_cast<int>(first.options.run_ahead), r % links});
    }
    comparison.add(seed, simulate_ranks(ranks, options).time_ns, all);
  }
  comparison.expect(kCases);
}

TEST(SmallStepOracle, AgreesOnRanksThatShareALinkFairly) { compare_ranks(Sharing::kFair, 0); }
TEST(SmallStepOracle, AgreesOnTurnsByDeadline) { compare_ranks(Sharing::kDeadline, 0); }
TEST(SmallStepOracle, AgreesOnTurnsByRank) { compare_ranks(Sharing::kPriority, 0); }
TEST(SmallStepOracle, AgreesOnTurnsThatRotate) { compare_ranks(Sharing::kRotating, 0); }
TEST(SmallStepOracle, AgreesOnTurnsOfWhoIsBehind) { compare_ranks(Sharing::kBehind, 0); }
TEST(SmallStepOracle, AgreesOnRanksThatBeginLater) { compare_ranks(Sharing::kPriority, 0.5); }

}  // namespace
}  // namespace tferry::analyzer
