#include "analyzer/workload/json.hpp"

#include "analyzer/workload/json_node.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unordered_map>

namespace tferry::analyzer {
namespace {

using Json = nlohmann::ordered_json;
using Node = JsonNode;

constexpr std::pair<std::string_view, AccessKind> kKinds[] = {{"read", AccessKind::kRead},
                                                              {"update", AccessKind::kUpdate},
                                                              {"overwrite", AccessKind::kOverwrite},
                                                              {"may-touch", AccessKind::kMayTouch}};

AccessKind kind_named(const Node& node) {
  const std::string name = node.text();
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  throw WorkloadError(node.place(), fmt::format("'{}' is none of read, update, overwrite, may-touch", name));
}

std::string_view name_of(AccessKind kind) {
  for (const auto& [name, known] : kKinds) {
    if (kind == known) return name;
  }
  return "may-touch";
}

Tensor read_tensor(const Node& node) {
  node.only({"name", "size", "birth", "death", "kept"});
  Tensor tensor;
  tensor.name = node.at("name").text();
  tensor.size = node.at("size").integer(kMaxBytes);
  tensor.persistent = !node.has("birth") && !node.has("death");
  if (!tensor.persistent) {
    tensor.birth = static_cast<std::uint32_t>(node.at("birth").integer(kMaxOperations));
    tensor.death = static_cast<std::uint32_t>(node.at("death").integer(kMaxOperations));
    tensor.kept = node.has("kept") && node.at("kept").boolean();
  } else if (node.has("kept")) {
    throw WorkloadError(node.at("kept").place(), "is for tensors with birth and death");
  }
  return tensor;
}

LinkRates read_link(const Node& node) {
  node.only({"in_gbps", "out_gbps", "duplex_in_gbps", "duplex_out_gbps", "reached", "copy_ns"});
  LinkRates link{node.at("in_gbps").number(), node.at("out_gbps").number(),
                 node.at("duplex_in_gbps").number(), node.at("duplex_out_gbps").number()};
  if (node.has("reached")) link.reached = node.at("reached").number();
  if (node.has("copy_ns")) link.copy_ns = node.at("copy_ns").number();
  return link;
}

Operation read_operation(const Node& node, const std::unordered_map<std::string, std::uint32_t>& tensors) {
  node.only({"name", "duration_ns", "gap_ns", "accesses"});
  Operation operation;
  operation.name = node.at("name").text();
  operation.duration_ns = node.at("duration_ns").integer(kMaxNanoseconds);
  if (node.has("gap_ns")) operation.gap_ns = node.at("gap_ns").integer(kMaxNanoseconds);
  for (const Node& access : node.at("accesses").items()) {
    access.only({"tensor", "kind"});
    const Node reference = access.at("tensor");
    const auto found = tensors.find(reference.text());
    if (found == tensors.end()) {
      throw WorkloadError(reference.place(), fmt::format("no tensor is named '{}'", reference.text()));
    }
    operation.accesses.push_back({found->second, kind_named(access.at("kind"))});
  }
  return operation;
}

}  // namespace

Workload workload_from_json(std::string_view text) {
  const Json document = parse_json(text, "workload");
  const Node root(document, "");
  root.only({"schema", "name", "source", "budget", "link", "tensors", "operations"});
  if (const std::string schema = root.at("schema").text(); schema != kWorkloadSchema) {
    throw WorkloadError("schema", fmt::format("'{}' is not '{}'", schema, kWorkloadSchema));
  }
  Workload workload;
  workload.name = root.at("name").text();
  workload.source = root.at("source").text();
  if (workload.source != "recorded" && workload.source != "synthetic" && workload.source != "manual") {
    throw WorkloadError("source",
                        fmt::format("'{}' is none of recorded, synthetic, manual", workload.source));
  }
  workload.budget = root.at("budget").integer(kMaxBytes);
  workload.link = read_link(root.at("link"));
  std::unordered_map<std::string, std::uint32_t> index;
  for (const Node& node : root.at("tensors").items()) {
    workload.tensors.push_back(read_tensor(node));
    const auto place = static_cast<std::uint32_t>(workload.tensors.size() - 1);
    if (!index.emplace(workload.tensors.back().name, place).second) {
      throw WorkloadError(node.place() + ".name",
                          fmt::format("'{}' is the name of an earlier tensor", workload.tensors.back().name));
    }
  }
  for (const Node& node : root.at("operations").items())
    workload.operations.push_back(read_operation(node, index));
  validate(workload);
  return workload;
}

std::string to_json(const Workload& workload) {
  Json document;
  document["schema"] = kWorkloadSchema;
  document["name"] = workload.name;
  document["source"] = workload.source;
  document["budget"] = workload.budget;
  document["link"] = {{"in_gbps", workload.link.in},
                      {"out_gbps", workload.link.out},
                      {"duplex_in_gbps", workload.link.duplex_in},
                      {"duplex_out_gbps", workload.link.duplex_out}};
  if (workload.link.reached != 1) document["link"]["reached"] = workload.link.reached;
  if (workload.link.copy_ns != 0) document["link"]["copy_ns"] = workload.link.copy_ns;
  document["tensors"] = Json::array();
  for (const Tensor& tensor : workload.tensors) {
    Json entry = {{"name", tensor.name}, {"size", tensor.size}};
    if (!tensor.persistent) entry["birth"] = tensor.birth, entry["death"] = tensor.death;
    if (tensor.kept) entry["kept"] = true;
    document["tensors"].push_back(std::move(entry));
  }
  document["operations"] = Json::array();
  for (const Operation& operation : workload.operations) {
    Json accesses = Json::array();
    for (const Access& access : operation.accesses) {
      accesses.push_back({{"tensor", workload.tensors[access.tensor].name}, {"kind", name_of(access.kind)}});
    }
    Json entry = {{"name", operation.name}, {"duration_ns", operation.duration_ns}};
    if (operation.gap_ns != 0) entry["gap_ns"] = operation.gap_ns;
    entry["accesses"] = std::move(accesses);
    document["operations"].push_back(std::move(entry));
  }
  return document.dump(1) + "\n";
}

}  // namespace tferry::analyzer
