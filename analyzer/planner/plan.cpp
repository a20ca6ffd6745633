#include "analyzer/planner/plan.hpp"

#include "analyzer/bound/breakpoints.hpp"
#include "analyzer/workload/uses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tferry::analyzer {

std::vector<std::int64_t> planned_bytes(const Workload& workload, const Plan& plan) {
  const std::size_t count = workload.operations.size();
  std::vector<std::int64_t> bytes = live_bytes(workload, Uses(workload));
  for (const PlanAction& action : plan.actions) {
    for (std::size_t t = action.leave_after + std::size_t{1}; t < action.return_from; ++t) {
      bytes[t % count] -= action.bytes;
    }
  }
  return bytes;
}

std::vector<std::string> plan_errors(const Workload& workload, const Plan& plan) {
  std::vector<std::string> errors;
  const std::size_t count = workload.operations.size();
  const Uses uses(workload);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Gap> by_start;
  for (const Gap& gap : gaps(workload, uses)) by_start[{gap.tensor, gap.after}] = gap;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> parked;
  Plan sound;
  for (std::size_t i = 0; i < plan.actions.size(); ++i) {
    const PlanAction& action = plan.actions[i];
    const auto complain = [&](const std::string& what) {
      errors.push_back(fmt::format("actions[{}]: {}", i, what));
    };
    if (action.tensor >= workload.tensors.size()) {
      complain(fmt::format("there is no tensor {}", action.tensor));
      continue;
    }
    const std::string& name = workload.tensors[action.tensor].name;
    const auto gap = by_start.find({action.tensor, action.leave_after});
    if (gap == by_start.end()) {
      complain(fmt::format("operation {} does not use '{}', or is its last use", action.leave_after, name));
    } else if (gap->second.last == action.returns) {
      complain(action.returns
                   ? fmt::format("operation {} is the last use of '{}'", action.leave_after, name)
                   : fmt::format("'{}' is used again after operation {}", name, action.leave_after));
    } else if (gap->second.last &&
               (action.needed_by != gap->second.before || action.return_from != action.needed_by)) {
      complain(
          fmt::format("'{}' is freed before operation {}, which both return_from and needed_by have to say",
                      name, gap->second.before));
    } else if (gap->second.before != action.needed_by) {
      complain(fmt::format("'{}' is used next by operation {}, not {}", name, gap->second.before,
                           action.needed_by));
    } else if (!gap->second.needed) {
      complain(fmt::format("the contents of '{}' are dead after operation {}", name, action.leave_after));
    } else if (action.return_from <= action.leave_after || action.return_from > action.needed_by) {
      complain(fmt::format("'{}' cannot return from operation {} on", name, action.return_from));
    } else if (action.bytes <= 0 ||
               (parked[gap->first] += action.bytes) > workload.tensors[action.tensor].size) {
      complain(fmt::format("'{}' has {} bytes", name, workload.tensors[action.tensor].size));
    } else {
      sound.actions.push_back(action);
    }
  }
  const std::vector<std::int64_t> bytes = planned_bytes(workload, sound);
  for (std::size_t t = 0; t < count; ++t) {
    if (bytes[t] <= workload.budget) continue;
    errors.push_back(fmt::format("operation {} ('{}') needs {} bytes on the card, the budget is {}", t,
                                 workload.operations[t].name, bytes[t], workload.budget));
    break;
  }
  return errors;
}

}  // namespace tferry::analyzer
