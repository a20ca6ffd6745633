#include "analyzer/planner/coordination.hpp"

#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policy_names.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>

namespace tferry::analyzer {
namespace {

constexpr std::array kAll{Coordination::kFair,     Coordination::kInterleave, Coordination::kDeadline,
                          Coordination::kPriority, Coordination::kRotating,   Coordination::kSkewed};

Sharing sharing_of(Coordination mode) {
  switch (mode) {
    case Coordination::kDeadline:
      return Sharing::kDeadline;
    case Coordination::kPriority:
    case Coordination::kSkewed:
      return Sharing::kPriority;
    case Coordination::kRotating:
      return Sharing::kRotating;
    case Coordination::kFair:
    case Coordination::kInterleave:
      break;
  }
  return Sharing::kFair;
}

using MakePolicy = std::function<std::unique_ptr<Policy>(std::size_t rank)>;

double simulated(const Workload& workload, const RankLayout& layout, Coordination mode,
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
  return simulate_ranks(ranks, options).time_ns;
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
    case Coordination::kSkewed:
      return "skewed";
  }
  return "";
}

std::span<const Coordination> all_coordinations() { return kAll; }

double coordinated_time(const Workload& workload, const Plan& plan, const Plan& other,
                        const RankLayout& layout, Coordination mode, const SimulationOptions& simulation) {
  const Uses uses(workload);
  return simulated(workload, layout, mode, simulation, [&](std::size_t rank) {
    const bool second = mode == Coordination::kInterleave && rank % 2 == 1;
    return std::make_unique<PlanPolicy>(workload, uses, second ? other : plan);
  });
}

double coordinated_lms_time(const Workload& workload, const RankLayout& layout, Coordination mode,
                            const SimulationOptions& simulation) {
  return simulated(workload, layout, mode, simulation, [&](std::size_t rank) -> std::unique_ptr<Policy> {
    if (mode == Coordination::kInterleave) {
      return std::make_unique<InterleavedLmsPolicy>(workload, rank % layout.gpus_per_link,
                                                    layout.gpus_per_link);
    }
    return make_policy("lms", workload);
  });
}

Coordination choose_coordination(double oversubscription, const RankLayout& layout) {
  if (layout.gpus_per_link < 2) return Coordination::kFair;
  if (layout.iterations_per_round == 1) return Coordination::kPriority;
  return oversubscription < 1.75 && layout.gpus_per_link > 2 ? Coordination::kDeadline
                                                             : Coordination::kPriority;
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
