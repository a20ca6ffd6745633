#include "analyzer/session/store.hpp"

#include "analyzer/session/plan_rows.hpp"

#include <algorithm>
#include <unordered_map>

namespace tferry::analyzer {
namespace {

std::string resource_name(Resource resource) {
  switch (resource) {
    case Resource::kCompute:
      return "compute";
    case Resource::kIn:
      return "link_in";
    case Resource::kOut:
      return "link_out";
    case Resource::kDuplex:
      return "duplex";
  }
  return "unknown";
}

std::optional<std::int64_t> known(std::int64_t id) { return id == 0 ? std::nullopt : std::optional(id); }

std::int64_t whole(double value) { return static_cast<std::int64_t>(value + 0.5); }

class RankStore {
 public:
  RankStore(trace::SessionWriter& writer, const RankAnalysis& rank)
      : writer_(writer), rank_(rank), process_(rank.source.process_id), device_(rank.source.device_id) {
    const NamePool& names = recording().names;
    for (std::uint32_t name = 0; name < names.size(); ++name) waits_.push_back(synchronises(names[name]));
  }

  void store() {
    store_iterations();
    if (rank_.typical) store_tensors();
    if (rank_.bound) store_bound();
    std::optional<std::int64_t> plan;
    if (rank_.placed)
      plan = insert_plan(writer_, plan_row(rank_, *rank_.placed), rank_, *rank_.placed, tensor_ids_);
    for (const PolicySimulation& simulation : rank_.simulations) {
      store_simulation(simulation, simulation.of_plan ? plan : std::nullopt);
    }
  }

 private:
  const Recording& recording() const { return rank_.source.recording; }
  bool regular(std::uint32_t iteration) const {
    return rank_.typical &&
           std::binary_search(rank_.typical->regular.begin(), rank_.typical->regular.end(), iteration);
  }

  void store_iterations() {
    std::vector<std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>> place(
        recording().operations.size());  // iteration and position
    if (rank_.iterations) {
      const auto& spans = rank_.iterations->spans;
      for (std::uint32_t i = 0; i < spans.size(); ++i) {
        const RecordedOperation& first = recording().operations[spans[i].begin];
        const RecordedOperation& last = recording().operations[spans[i].end - 1];
        trace::IterationRow row;
        row.process_id = process_;
        row.number = i;
        row.start_ns = first.start_ns.value_or(first.call_ns);
        row.end_ns = last.end_ns.value_or(last.call_ns);
        row.first_operation = first.number;
        row.last_operation = last.number;
        row.regular = regular(i);
        row.source = "period";
        row.micro_batches = static_cast<std::int64_t>(rank_.iterations->accumulation);
        const auto begin = recording().operations.begin();
        row.synchronisations = std::count_if(begin + static_cast<std::ptrdiff_t>(spans[i].begin),
                                             begin + static_cast<std::ptrdiff_t>(spans[i].end),
                                             [&](const RecordedOperation& one) { return waits_[one.name]; });
        const std::int64_t id = writer_.insert(row);
        iteration_ids_.push_back(id);
        for (std::size_t at = spans[i].begin; at < spans[i].end; ++at) {
          place[at] = {id, static_cast<std::int64_t>(at - spans[i].begin)};
        }
      }
    }
    for (std::size_t at = 0; at < recording().operations.size(); ++at) {
      const RecordedOperation& operation = recording().operations[at];
      const SessionRecording::Source& source = rank_.source.sources[at];
      trace::OperationRow row;
      row.process_id = process_;
      row.operation = operation.number;
      std::tie(row.iteration_id, row.position) = place[at];
      row.kind = kind_name(source.kind);
      row.signature = operation.signature;
      row.name_id = known(source.name_id);
      row.device_id = device_;
      row.stream_id = known(source.stream_id);
      row.call_ns = operation.call_ns;
      row.start_ns = operation.start_ns;
      row.end_ns = operation.end_ns;
      using Kind = SessionRecording::Kind;
      if (source.kind == Kind::kKernel) row.kernel_id = known(source.row_id);
      if (source.kind == Kind::kMemcpy) row.memcpy_id = known(source.row_id);
      if (source.kind == Kind::kMemset) row.memset_id = known(source.row_id);
      if (row.position && rank_.typical &&
          regular(static_cast<std::uint32_t>(*row.iteration_id - iteration_ids_.front()))) {
        row.duration_ns =
            rank_.typical->workload.operations[static_cast<std::size_t>(*row.position)].duration_ns;
      }
      writer_.insert(row);
    }
  }

  void store_tensors() {
    for (const MatchedTensor& matched : rank_.typical->tensors) {
      trace::TensorRow row;
      row.process_id = process_;
      row.device_id = device_;
      row.name = matched.tensor.name;  // by which plans know it
      row.bytes = matched.tensor.size;
      row.persistent = matched.tensor.persistent;
      if (matched.accesses > 0) {
        row.first_position = matched.first_access;
        row.last_position = matched.last_access;
      }
      row.accesses = matched.accesses;
      row.instances = static_cast<std::int64_t>(matched.allocations.size());
      row.movable = matched.movable;
      const std::int64_t id = writer_.insert(row);
      tensor_ids_.push_back(id);
      for (std::size_t k = 0; k < matched.allocations.size(); ++k) {
        trace::TensorAllocationRow member;
        member.tensor_id = id;
        member.allocation_id = recording().allocations[matched.allocations[k]].id;
        if (!matched.iterations.empty()) member.iteration_id = iteration_ids_[matched.iterations[k]];
        writer_.insert(member);
      }
    }
  }

  void store_bound() {
    const Bound& bound = *rank_.bound;
    trace::BoundRow row;
    row.process_id = process_;
    row.device_id = device_;
    row.budget_bytes = rank_.budget_bytes;
    row.bound_ns = whole(bound.time_ns);
    row.in_memory_ns = whole(bound.compute_ns);
    row.resource = resource_name(bound.limiting);
    const auto decides =
        std::max_element(bound.chain.begin(), bound.chain.end(), [&](const auto& a, const auto& b) {
          return (a.resource == bound.limiting ? a.time_ns : -1) <
                 (b.resource == bound.limiting ? b.time_ns : -1);
        });
    if (decides != bound.chain.end()) row.from_position = decides->from, row.to_position = decides->to;
    row.bytes_in = bound.forced_in;
    row.bytes_out = bound.forced_out;
    row.link_h2d_bytes_per_second = rank_.typical->workload.link.in * 1e9;
    row.link_d2h_bytes_per_second = rank_.typical->workload.link.out * 1e9;
    row.link_known_by = rank_.link_known_by;
    row.route = trace::route_name(rank_.route);
    writer_.insert(row);
  }

  void store_simulation(const PolicySimulation& simulation, std::optional<std::int64_t> plan) {
    const Simulation& result = simulation.result;
    const LinkRates& link = rank_.typical->workload.link;
    trace::SimulationRow row;
    row.plan_id = plan;
    row.process_id = process_;
    row.device_id = device_;
    row.policy = simulation.policy;
    row.budget_bytes = rank_.budget_bytes;
    row.predicted_ns = whole(result.time_ns);
    row.stall_ns = whole(result.stall_ns);
    row.bytes_in = result.bytes_in;
    row.bytes_out = result.bytes_out;
    row.peak_bytes = result.peak_bytes + rank_.typical->resident_bytes;
    const double in = static_cast<double>(result.bytes_in) / link.in;
    const double out = static_cast<double>(result.bytes_out) / link.out;
    row.resource = 100 * result.stall_ns < result.time_ns ? "compute" : in > out ? "link_in" : "link_out";
    writer_.insert(row);
  }

  trace::SessionWriter& writer_;
  const RankAnalysis& rank_;
  std::int64_t process_;
  std::int64_t device_;
  std::vector<bool> waits_;  ///< by name of the operation: ranks wait for each other
  std::vector<std::int64_t> iteration_ids_;
  std::vector<std::int64_t> tensor_ids_;
};

}  // namespace

void store_analysis(trace::SessionWriter& writer, std::span<const RankAnalysis> ranks) {
  writer.clear<trace::TensorAllocationRow>();
  writer.clear<trace::TensorRow>();
  writer.clear<trace::OperationRow>();
  writer.clear<trace::IterationRow>();
  writer.clear<trace::BoundRow>();
  writer.clear<trace::SimulationRow>();
  for (const RankAnalysis& rank : ranks) RankStore(writer, rank).store();
}

}  // namespace tferry::analyzer
