#include "analyzer/session/analysis.hpp"

#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace tferry::analyzer {
namespace {

void simulate_policies(RankAnalysis& rank, const AnalysisOptions& options) {
  const Workload& workload = rank.typical->workload;
  const SimulationOptions& how = options.planner.simulation;
  OnDemandPolicy on_demand(workload);
  rank.simulations.push_back({"on-demand", simulate(workload, on_demand, how)});
  LmsEarlyPolicy early(workload);
  rank.simulations.push_back({"lms-early", simulate(workload, early, how)});
  if (!options.plan) return;
  rank.plan = plan_lookahead(workload, options.planner);
  const Uses uses(workload);
  PlanPolicy follow(workload, uses, *rank.plan);
  rank.simulations.push_back({"lookahead", simulate(workload, follow, how)});
}

}  // namespace

RankAnalysis analyze_recording(SessionRecording source, const LinkRates& link,
                               const std::string& link_known_by, const AnalysisOptions& options) {
  RankAnalysis rank;
  rank.source = std::move(source);
  rank.link_known_by = link_known_by;
  const Recording& recording = rank.source.recording;
  std::vector<std::uint32_t> signatures;
  signatures.reserve(recording.operations.size());
  for (const RecordedOperation& operation : recording.operations) signatures.push_back(operation.signature);
  rank.iterations = find_iterations(signatures);
  if (!rank.iterations) {
    rank.unknown.push_back(
        fmt::format("iterations: {} operations show no clear period; record at least three whole iterations",
                    signatures.size()));
    return rank;
  }
  rank.typical = typical_iteration(recording, *rank.iterations);
  if (!rank.source.hooked) {
    rank.unknown.push_back("tensors: no calls were recorded; profile without --no-preload");
    return rank;
  }
  if (recording.allocations.empty()) {
    rank.unknown.push_back("tensors: no allocations were recorded");
    return rank;
  }
  if (!options.budget_bytes && !options.oversubscription) {
    rank.unknown.push_back("bound: no budget; give --budget or --oversubscribe");
    return rank;
  }
  RecordedIteration& typical = *rank.typical;
  rank.budget_bytes = options.budget_bytes.value_or(0);
  if (!options.budget_bytes) {
    rank.budget_bytes =
        static_cast<std::int64_t>(static_cast<double>(typical.footprint_bytes) / *options.oversubscription);
  }
  typical.workload.budget = rank.budget_bytes - typical.resident_bytes;
  typical.workload.link = link;
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
    std::string known_by = "assumed";
    LinkRates link = options.link.value_or(LinkRates{});
    if (!options.link) link = link_rates(session, recording.device_id, &known_by);
    ranks.push_back(analyze_recording(std::move(recording), link, known_by, options));
  }
  return ranks;
}

}  // namespace tferry::analyzer
