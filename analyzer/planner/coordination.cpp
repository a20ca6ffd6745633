#include "analyzer/planner/coordination.hpp"

#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <memory>

namespace tferry::analyzer {
namespace {

constexpr std::array kAll{Coordination::kFair,     Coordination::kInterleave, Coordination::kDeadline,
                          Coordination::kPriority, Coordination::kRotating,   Coordination::kBehind,
                          Coordination::kSkewed};

constexpr std::uint64_t kBriefIterations = 4;  ///< between synchronisations, when modes are compared
constexpr double kAsGood = 1.01;

Sharing sharing_of(Coordination mode) {
  switch (mode) {
    case Coordination::kDeadline:
      return Sharing::kDeadline;
    case Coordination::kPriority:
    case Coordination::kSkewed:
      return Sharing::kPriority;
    case Coordination::kRotating:
      return Sharing::kRotating;
    case Coordination::kBehind:
      return Sharing::kBehind;
    case Coordination::kFair:
    case Coordination::kInterleave:
      break;
  }
  return Sharing::kFair;
}

using MakePolicy = std::function<std::unique_ptr<Policy>(std::size_t rank)>;

RankSimulation simulated(const Workload& workload, const RankLayout& layout, Coordination mode,
                         const SimulationOptions& simulation, const MakePolicy& make) {
  RankOptions options;
  options.simulation = simulation;
  options.sharing = sharing_of(mode);
  options.iterations_per_round = layout.iterations_per_round;
  options.rounds = layout.iterations_per_round == 1 ? 6 : layout.iterations_per_round < 16 ? 3 : 2;
  if (mode == Coordination::kSkewed) options.skew = 1.0 / static_cast<double>(layout.gpus_per_link);
  options.links.assign((layout.gpus + layout.gpus_per_link - 1) / layout.gpus_per_link, workload.link);
  std::vector<std::unique_ptr<Policy>> policies;
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < layout.gpus; ++r) {
    policies.push_back(make(r));
    ranks.push_back({&workload, policies.back().get(), r / layout.gpus_per_link});
  }
  return simulate_ranks(ranks, options);
}

}  // namespace

std::string coordination_name(Coordination mode) {
  switch (mode) {
    case Coordination::kFair:
      return "fair";
    case Coordination::kInterleave:
      return "interleave";
    case Coordination::kDeadline:
      return "deadline";
    case Coordination::kPriority:
      return "priority";
    case Coordination::kRotating:
      return "rotating";
    case Coordination::kBehind:
      return "behind";
    case Coordination::kSkewed:
      return "skewed";
  }
  return "";
}

std::span<const Coordination> all_coordinations() { return kAll; }

RankSimulation simulate_coordinated(const Workload& workload, const Plan& plan, const Plan& other,
                                    const RankLayout& layout, Coordination mode,
                                    const SimulationOptions& simulation) {
  const Uses uses(workload);
  return simulated(workload, layout, mode, simulation, [&](std::size_t rank) {
    const bool second = mode == Coordination::kInterleave && rank % 2 == 1;
    return std::make_unique<PlanPolicy>(workload, uses, second ? other : plan);
  });
}

double coordinated_time(const Workload& workload, const Plan& plan, const Plan& other,
                        const RankLayout& layout, Coordination mode, const SimulationOptions& simulation) {
  return simulate_coordinated(workload, plan, other, layout, mode, simulation).time_ns;
}

double coordinated_lms_time(const Workload& workload, const RankLayout& layout, Coordination mode,
                            const SimulationOptions& simulation) {
  return simulated(workload, layout, mode, simulation,
                   [&](std::size_t rank) -> std::unique_ptr<Policy> {
                     if (mode == Coordination::kInterleave) {
                       return std::make_unique<InterleavedLmsPolicy>(workload, rank % layout.gpus_per_link,
                                                                     layout.gpus_per_link);
                     }
                     return make_policy("lms", workload);
                   })
      .time_ns;
}

Coordination usual_coordination(const RankLayout& layout) {
  return layout.gpus_per_link < 2 ? Coordination::kFair : Coordination::kBehind;
}

Coordination choose_coordination(const Workload& workload, const Plan& plan, const Plan* other,
                                 const RankLayout& layout, const SimulationOptions& simulation) {
  if (layout.gpus_per_link < 2) return Coordination::kFair;
  const std::size_t ranks = std::min(layout.gpus, layout.gpus_per_link);
  const RankLayout brief{ranks, ranks, std::min(layout.iterations_per_round, kBriefIterations)};
  std::map<Coordination, double> times;  // simplest first
  double best = std::numeric_limits<double>::infinity();
  for (const Coordination mode : all_coordinations()) {
    if (mode == Coordination::kInterleave && other == nullptr) continue;
    if (mode == Coordination::kSkewed) continue;
    times[mode] = coordinated_time(workload, plan, other != nullptr ? *other : plan, brief, mode, simulation);
    best = std::min(best, times[mode]);
  }
  const Coordination usual = usual_coordination(layout);
  if (times.at(usual) <= kAsGood * best) return usual;
  return std::find_if(times.begin(), times.end(),
                      [&](const auto& one) { return one.second <= kAsGood * best; })
      ->first;
}

double plan_overlap(const Plan& one, const Plan& other) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> moved;
  double all = 0, both = 0;
  for (const PlanAction& action : one.actions) moved[{action.tensor, action.leave_after}] += action.bytes;
  for (const PlanAction& action : other.actions) {
    all += static_cast<double>(action.bytes);
    const auto found = moved.find({action.tensor, action.leave_after});
    if (found != moved.end()) both += static_cast<double>(std::min(found->second, action.bytes));
  }
  return all == 0 ? 0 : both / all;
}

}  // namespace tferry::analyzer
