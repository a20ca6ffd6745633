#pragma once

#include "analyzer/session/analysis.hpp"
#include "trace/session_writer.hpp"

#include <span>

namespace tferry::analyzer {

/// Writes the derived tables of a session: iteration, operation, tensor, tensor_allocation, bound and
/// simulation are made anew; plan and plan_action are added to. The caller publishes. Throws
/// trace::SessionError.
void store_analysis(trace::SessionWriter& writer, std::span<const RankAnalysis> ranks);

}  // namespace tferry::analyzer
