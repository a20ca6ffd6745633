#pragma once

#include "analyzer/live/live_recording.hpp"
#include "analyzer/placement/placed_plan.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "trace/chunk_size.hpp"
#include "trace/copy_route.hpp"
#include "trace/flat_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tferry::analyzer {

struct LivePlanOptions {
  std::int64_t budget_bytes = 0;
  trace::MemoryRules memory;  ///< of the run
  LinkRates link;             ///< of the way by which contents go
  trace::CopyRoute::Way route = trace::CopyRoute::Way::kDirect;
  std::string name;  ///< of the plan, for messages
  LookaheadOptions planner;
};

/// A plan for the job that runs, or why there is none yet.
struct LivePlan {
  std::optional<trace::FlatPlan> plan;
  std::optional<PlacedPlan> placed;  ///< the same, by which it can be compared with others
  std::string reason;
  std::size_t iterations = 0;  ///< that it was made from
  std::size_t moves = 0;
  std::int64_t bytes_out = 0;  ///< per iteration
  std::int64_t bytes_in = 0;
};

/// Makes a plan from what the hooks saw so far. Nothing is planned before what repeats itself is the job's
/// iteration for sure (reason_to_wait.hpp), nor where a plan would not be faster than the iterations were.
/// Times are taken while the job swaps: an operation's is the smallest of all iterations, and idle times
/// between operations are waits for memory as likely as the program's own, so they count as none. Where the
/// times of most operations are not known, an operation is taken to last in proportion to the bytes that
/// it names, all of them together as long as an iteration took, less what its transfers take: the plan then
/// has no prediction and no bound. Its order of events does not depend on times.
LivePlan make_live_plan(const LiveRecording& recording, const LivePlanOptions& options);

}  // namespace tferry::analyzer
