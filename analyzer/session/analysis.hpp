#pragma once

#include "analyzer/bound/bound.hpp"
#include "analyzer/iterations/period.hpp"
#include "analyzer/placement/placed_plan.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/session/read_recording.hpp"
#include "analyzer/session/route_link.hpp"
#include "analyzer/simulator/simulator.hpp"
#include "analyzer/tensors/tensors.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::analyzer {

struct AnalysisOptions {
  std::optional<std::int64_t> budget_bytes;  ///< of GPU memory for the program, per GPU
  std::optional<double> oversubscription;    ///< footprint over budget; used where no budget is given
  trace::CopyRoute::Way route = trace::CopyRoute::Way::kDirect;  ///< by which contents come and go
  std::optional<LinkRates> link;   ///< of that way, instead of what the session knows
  CalibrationOf calibration;       ///< of the machine, where the session knows nothing of that way
  std::int64_t chunk_bytes = 0;    ///< as a run is told to use; 0: what it chooses for its budget
  std::int64_t movable_bytes = 0;  ///< the same
  bool plan = true;
  LookaheadOptions planner;
  Effort effort;          ///< of lookahead
  Planner other_planner;  ///< instead of lookahead; its plans say who made them
};

struct PolicySimulation {
  /// on-demand, lms, lms-early; the planner of a plan, such as lookahead; or an estimate of what needs no
  /// swapping
  std::string policy;
  Simulation result;
  bool of_plan = false;  ///< of RankAnalysis::placed
};

/// What is known about one process on one GPU. What is not known is empty, and `unknown` says why in words.
struct RankAnalysis {
  SessionRecording source;
  std::optional<Iterations> iterations;
  std::optional<RecordedIteration> typical;  ///< its workload has budget and link set once there is a budget
  std::int64_t recorded_footprint = 0;       ///< in bytes as the recording counts them
  std::int64_t budget_bytes = 0;             ///< 0: none was given
  trace::CopyRoute::Way route = trace::CopyRoute::Way::kDirect;  ///< whose rates the workload's link has
  std::string link_known_by;                                     ///< measured, learned, assumed
  std::optional<Bound> bound;
  std::vector<PolicySimulation> simulations;
  std::optional<PlacedPlan> placed;
  std::vector<std::string> unknown;
};

/// The whole way from a session to bound, simulations and plan, for every process and GPU in it. Once there
/// is a budget, sizes are counted as a run under it does, in its chunks. The budget of bound and policies is
/// what the given one leaves beside the tensors that cannot move; a plan also leaves some memory spare.
/// Throws trace::SessionError when the file is damaged, std::invalid_argument for a budget or factor that is
/// none.
std::vector<RankAnalysis> analyze_session(trace::Session& session, const AnalysisOptions& options);

/// The iterations, and the typical one, of a recording as it counts memory, or under the rules of a run; they
/// begin where the fewest bytes are alive. False where there is no clear period.
bool find_typical(RankAnalysis& rank, const std::optional<trace::MemoryRules>& memory);

/// The same for a run under a plan that was made for `planned`: iterations are where the run did exactly the
/// operations of that plan's, and begin where they do. False where it never did.
bool find_planned(RankAnalysis& run, const RankAnalysis& planned, const trace::MemoryRules& memory);

/// The same as analyze_session for one recording.
RankAnalysis analyze_recording(SessionRecording source, const RouteLink& link,
                               const AnalysisOptions& options);

}  // namespace tferry::analyzer
