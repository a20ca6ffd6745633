#include "analyzer/session/analysis.hpp"

#include "analyzer/planner/alternatives.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/tensors/count_memory.hpp"
#include "analyzer/tensors/memory_events.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace tferry::analyzer {
namespace {

void simulate_policies(RankAnalysis& rank, const AnalysisOptions& options) {
  const Workload& workload = rank.typical->workload;
  const SimulationOptions& how = options.planner.simulation;
  OnDemandPolicy on_demand(workload);
  rank.simulations.push_back({"on-demand", simulate(workload, on_demand, how)});
  LmsPolicy lms(workload);
  rank.simulations.push_back({"lms", simulate(workload, lms, how)});
  LmsEarlyPolicy early(workload);
  rank.simulations.push_back({"lms-early", simulate(workload, early, how)});
}

/// A followed plan in the form of the other policies.
Simulation as_simulation(const PlacedPlan& placed) {
  Simulation simulation;
  const QueueSimulation& queues = placed.placement.simulated;
  simulation.time_ns = queues.time_ns;
  simulation.iteration_ns = {queues.time_ns};
  simulation.bytes_in = placed.placement.bytes_in;
  simulation.bytes_out = placed.placement.bytes_out;
  simulation.stall_ns = std::accumulate(queues.stalls_ns.begin(), queues.stalls_ns.end(), 0.0);
  simulation.peak_bytes = placed.placement.chunks * placed.workload.chunk_bytes;
  simulation.late_fetches = queues.late_returns;
  simulation.starts_ns = queues.starts_ns;
  simulation.stalls_ns = queues.stalls_ns;
  return simulation;
}

void make_plan(RankAnalysis& rank, const trace::MemoryRules& memory, const AnalysisOptions& options) {
  const Recording& recording = rank.source.recording;
  PlanOutcome outcome = options.other_planner
                            ? make_placed_plan(recording, *rank.typical, memory, rank.budget_bytes,
                                               options.other_planner, options.planner.simulation)
                            : make_placed_plan(recording, *rank.typical, memory, rank.budget_bytes,
                                               options.planner, options.effort);
  if (!outcome.plan) {
    rank.unknown.push_back("plan: " + outcome.reason);
    return;
  }
  rank.placed = std::move(outcome.plan);
  rank.simulations.push_back({planner_name(rank.placed->plan), as_simulation(*rank.placed), true});
}

/// What swapping competes with, in the form of a policy that moves nothing.
void add_alternatives(RankAnalysis& rank) {
  const Alternatives found = estimate_alternatives(rank.typical->workload);
  const auto add = [&](std::string name, double time_ns) {
    Simulation result;
    result.time_ns = time_ns;
    result.peak_bytes = rank.typical->workload.budget;
    rank.simulations.push_back({std::move(name), std::move(result)});
  };
  if (found.recompute && found.recompute->operations > 0)
    add("recompute (estimated)", found.recompute->time_ns);
  if (found.smaller_batch && found.smaller_batch->share < 1)
    add(fmt::format("batch of {:.0f} % (estimated)", 100 * found.smaller_batch->share),
        found.smaller_batch->time_ns);
}

std::vector<std::uint32_t> signatures(const Recording& recording) {
  std::vector<std::uint32_t> all;
  all.reserve(recording.operations.size());
  for (const RecordedOperation& operation : recording.operations) all.push_back(operation.signature);
  return all;
}

trace::MemoryRules memory_rules(std::int64_t budget, const AnalysisOptions& options) {
  trace::MemoryRules rules =
      options.chunk_bytes > 0
          ? trace::MemoryRules::with_chunk(static_cast<std::uint64_t>(options.chunk_bytes))
          : trace::MemoryRules::for_budget(static_cast<std::uint64_t>(budget));
  if (options.movable_bytes > 0)
    rules.movable = std::max(rules.chunk, static_cast<std::uint64_t>(options.movable_bytes));
  return rules;
}

/// The rates that somebody gave for a way; how copies are made by it stays.
RouteLink given_link(LinkRates rates, const RouteLink& way) {
  rates.reached = way.rates.reached;
  rates.copy_ns = way.rates.copy_ns;
  return {rates, "assumed"};
}

/// What is known without a budget; false where more cannot be known.
bool analyze_memory(RankAnalysis& rank, const AnalysisOptions& options) {
  const Recording& recording = rank.source.recording;
  if (!find_typical(rank, std::nullopt)) {
    rank.unknown.push_back(
        fmt::format("iterations: {} operations show no clear period; record at least three whole iterations",
                    recording.operations.size()));
    return false;
  }
  rank.recorded_footprint = rank.typical->footprint_bytes;
  if (!rank.source.hooked) {
    rank.unknown.push_back("tensors: no calls were recorded; profile without --no-preload");
    return false;
  }
  if (recording.allocations.empty()) {
    rank.unknown.push_back("tensors: no allocations were recorded");
    return false;
  }
  if (!options.budget_bytes && !options.oversubscription) {
    rank.unknown.push_back("bound: no budget; give --budget or --oversubscribe");
    return false;
  }
  return true;
}

}  // namespace

bool find_typical(RankAnalysis& rank, const std::optional<trace::MemoryRules>& memory) {
  Recording& recording = rank.source.recording;
  if (memory) count_memory(recording, *memory);
  rank.iterations = find_iterations(signatures(recording));
  if (!rank.iterations) return false;
  rank.typical = typical_iteration(recording, *rank.iterations);
  Iterations moved = move_boundary(recording, *rank.iterations, *rank.typical);
  if (moved.spans == rank.iterations->spans) return true;
  rank.iterations = std::move(moved);
  rank.typical = typical_iteration(recording, *rank.iterations);
  return true;
}

bool find_planned(RankAnalysis& run, const RankAnalysis& planned, const trace::MemoryRules& memory) {
  using Source = SessionRecording::Source;
  const IterationSpan known = planned.iterations->spans[planned.typical->regular.back()];
  const auto first = planned.source.sources.begin() + static_cast<std::ptrdiff_t>(known.begin);
  const auto last = planned.source.sources.begin() + static_cast<std::ptrdiff_t>(known.end);
  const std::vector<Source>& done = run.source.sources;
  Iterations iterations;
  iterations.period = known.size();
  iterations.confidence = 1;
  for (auto from = done.begin();;) {
    from = std::search(from, done.end(), first, last,
                       [](const Source& a, const Source& b) { return a.identity == b.identity; });
    if (from == done.end()) break;
    const auto begin = static_cast<std::size_t>(from - done.begin());
    iterations.spans.push_back({begin, begin + known.size()});
    from += static_cast<std::ptrdiff_t>(known.size());
  }
  if (iterations.spans.empty()) return false;
  count_memory(run.source.recording, memory);
  run.typical = typical_iteration(run.source.recording, iterations);
  run.iterations = std::move(iterations);
  return true;
}

RankAnalysis analyze_recording(SessionRecording source, const RouteLink& link,
                               const AnalysisOptions& options) {
  RankAnalysis rank;
  rank.source = std::move(source);
  rank.route = options.route;
  rank.link_known_by = link.known_by;
  if (!analyze_memory(rank, options)) return rank;
  rank.budget_bytes = options.budget_bytes.value_or(0);
  if (!options.budget_bytes) {
    rank.budget_bytes =
        static_cast<std::int64_t>(static_cast<double>(rank.recorded_footprint) / *options.oversubscription);
  }
  const trace::MemoryRules memory = memory_rules(rank.budget_bytes, options);
  find_typical(rank, memory);
  RecordedIteration& typical = *rank.typical;
  typical.workload.budget = rank.budget_bytes - typical.resident_bytes;
  typical.workload.link = link.rates;
  if (typical.workload.budget <= 0) {
    rank.unknown.push_back(
        fmt::format("bound: the budget of {} bytes is less than the {} bytes that cannot move",
                    rank.budget_bytes, typical.resident_bytes));
    return rank;
  }
  try {
    validate(typical.workload);
  } catch (const WorkloadError& error) {
    rank.unknown.push_back(
        fmt::format("bound: {} (beside {} bytes that cannot move)", error.what(), typical.resident_bytes));
    return rank;
  }
  rank.bound = lower_bound(typical.workload);
  simulate_policies(rank, options);
  if (options.plan) make_plan(rank, memory, options);
  add_alternatives(rank);
  return rank;
}

std::vector<RankAnalysis> analyze_session(trace::Session& session, const AnalysisOptions& options) {
  if (options.budget_bytes && *options.budget_bytes <= 0)
    throw std::invalid_argument("the budget must be positive");
  if (options.oversubscription && !(*options.oversubscription > 0)) {
    throw std::invalid_argument("the factor of oversubscription must be positive");
  }
  std::vector<RankAnalysis> ranks;
  for (SessionRecording& recording : read_recordings(session)) {
    RouteLink link = session_route_link(session, recording.device_id, options.route, options.calibration);
    if (options.link) link = given_link(*options.link, link);
    ranks.push_back(analyze_recording(std::move(recording), link, options));
  }
  return ranks;
}

}  // namespace tferry::analyzer
