#include "analyzer/session/flat_plan.hpp"

#include <utility>

namespace tferry::analyzer {
namespace {

std::vector<trace::FlatPlan::Step> flat_steps(const std::vector<PlacementStep>& steps) {
  std::vector<trace::FlatPlan::Step> flat;
  flat.reserve(steps.size());
  for (const PlacementStep& step : steps)
    flat.push_back({step.position, step.tensor, step.first, step.count});
  return flat;
}

void add_tensors(const RecordedIteration& typical, const PlacedPlan& placed, trace::FlatPlan& flat) {
  for (std::uint32_t t = 0; t < placed.placement.places.size(); ++t) {
    const MatchedTensor& matched = typical.tensors[typical.tensor[t]];
    const std::vector<std::uint32_t>& places = placed.placement.places[t];
    trace::FlatPlan::Tensor tensor;
    tensor.bytes = matched.requested;
    tensor.ordinal = matched.ordinal;
    tensor.persistent = matched.tensor.persistent ? 1 : 0;
    tensor.pieces = static_cast<std::uint32_t>(places.size());
    tensor.first_place = static_cast<std::uint32_t>(flat.places.size());
    flat.tensors.push_back(tensor);
    flat.places.insert(flat.places.end(), places.begin(), places.end());
  }
}

void add_operations(const RankAnalysis& rank, trace::FlatPlan& flat) {
  const RecordedIteration& typical = *rank.typical;
  std::vector<std::uint32_t> number(typical.tensors.size(), ~std::uint32_t{0});
  for (std::uint32_t t = 0; t < typical.tensor.size(); ++t) number[typical.tensor[t]] = t;
  const std::size_t begin = rank.iterations->spans[typical.regular.back()].begin;
  for (std::size_t p = 0; p < typical.named.size(); ++p) {
    trace::FlatPlan::Operation operation;
    operation.signature = rank.source.sources[begin + p].identity;
    operation.first_name = static_cast<std::uint32_t>(flat.names.size());
    for (const std::uint32_t tensor : typical.named[p]) {
      if (number[tensor] != ~std::uint32_t{0}) flat.names.push_back(number[tensor]);
    }
    operation.name_count = static_cast<std::uint32_t>(flat.names.size()) - operation.first_name;
    flat.operations.push_back(operation);
  }
}

}  // namespace

trace::FlatPlan make_flat_plan(const RankAnalysis& rank, const PlacedPlan& placed, const trace::PlanRow& row,
                               std::string name) {
  trace::FlatPlan flat;
  flat.chunk_bytes = placed.rules.chunk;
  flat.budget_bytes = static_cast<std::uint64_t>(rank.budget_bytes);
  flat.chunk_count = placed.split.plan();
  flat.predicted_ns = row.predicted_ns.value_or(0);
  flat.bound_ns = row.bound_ns.value_or(0);
  flat.in_memory_ns = row.in_memory_ns.value_or(0);
  flat.forced_bytes = row.forced_bytes.value_or(0);
  flat.route = rank.route;
  flat.name = std::move(name);
  add_tensors(*rank.typical, placed, flat);
  add_operations(rank, flat);
  flat.leaves = flat_steps(placed.placement.leaves);
  flat.returns = flat_steps(placed.placement.returns);
  return flat;
}

}  // namespace tferry::analyzer
