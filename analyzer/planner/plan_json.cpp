#include "analyzer/planner/plan_json.hpp"

#include "analyzer/workload/json_node.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_map>

namespace tferry::analyzer {
namespace {

using Json = nlohmann::ordered_json;

void check_same(const JsonNode& node, std::int64_t have) {
  const std::int64_t stands = node.integer(kMaxBytes);
  if (stands == have) return;
  throw WorkloadError(node.place(), fmt::format("the plan is for {}, the workload has {}", stands, have));
}

PlanAction read_action(const JsonNode& node, const std::unordered_map<std::string, std::uint32_t>& tensors) {
  node.only({"tensor", "bytes", "leave_after", "return_from", "needed_by", "returns"});
  const JsonNode name = node.at("tensor");
  const auto found = tensors.find(name.text());
  if (found == tensors.end()) {
    throw WorkloadError(name.place(), fmt::format("no tensor is named '{}'", name.text()));
  }
  const auto position = [&](const char* key) {
    return static_cast<std::uint32_t>(node.at(key).integer(2 * static_cast<std::int64_t>(kMaxOperations)));
  };
  return {found->second,           node.at("bytes").integer(kMaxBytes),
          position("leave_after"), position("return_from"),
          position("needed_by"),   !node.has("returns") || node.at("returns").boolean()};
}

}  // namespace

std::string to_json(const Plan& plan, const Workload& workload) {
  Json document;
  document["schema"] = kPlanSchema;
  document["planner"] = plan.planner;
  document["workload"] = workload.name;
  document["operations"] = workload.operations.size();
  document["budget"] = workload.budget;
  document["predicted_ns"] = plan.predicted_ns;
  document["actions"] = Json::array();
  for (const PlanAction& action : plan.actions) {
    document["actions"].push_back({{"tensor", workload.tensors[action.tensor].name},
                                   {"bytes", action.bytes},
                                   {"leave_after", action.leave_after},
                                   {"return_from", action.return_from},
                                   {"needed_by", action.needed_by},
                                   {"returns", action.returns}});
  }
  return document.dump(1) + "\n";
}

Plan plan_from_json(std::string_view text, const Workload& workload) {
  PlanText read = read_plan(text, workload);
  if (!read.errors.empty()) {
    const std::string& first = read.errors.front();  // "place: what"
    const std::size_t colon = first.find(": ");
    throw WorkloadError(first.substr(0, colon), first.substr(colon + 2));
  }
  return std::move(read.plan);
}

PlanText read_plan(std::string_view text, const Workload& workload) {
  PlanText read;
  const auto attempt = [&read](const auto& step) {
    try {
      step();
    } catch (const WorkloadError& error) {
      read.errors.emplace_back(error.what());
    }
  };
  Json document;
  attempt([&] { document = parse_json(text, "plan"); });
  if (!read.errors.empty()) return read;
  const JsonNode root(document, "");
  attempt([&] {
    root.only({"schema", "planner", "workload", "operations", "budget", "predicted_ns", "actions"});
  });
  attempt([&] {
    if (const std::string schema = root.at("schema").text(); schema != kPlanSchema)
      throw WorkloadError("schema", fmt::format("'{}' is not '{}'", schema, kPlanSchema));
  });
  attempt([&] { check_same(root.at("operations"), static_cast<std::int64_t>(workload.operations.size())); });
  attempt([&] { check_same(root.at("budget"), workload.budget); });
  attempt([&] { read.plan.planner = root.at("planner").text(); });
  attempt([&] { read.plan.predicted_ns = root.at("predicted_ns").number(); });
  std::unordered_map<std::string, std::uint32_t> tensors;
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) tensors.emplace(workload.tensors[t].name, t);
  std::vector<JsonNode> actions;
  attempt([&] { actions = root.at("actions").items(); });
  for (const JsonNode& node : actions)
    attempt([&] { read.plan.actions.push_back(read_action(node, tensors)); });
  if (!read.errors.empty()) return read;
  for (const std::string& error : plan_errors(workload, read.plan)) read.errors.push_back("plan: " + error);
  return read;
}

}  // namespace tferry::analyzer
