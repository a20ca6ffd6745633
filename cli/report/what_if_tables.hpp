#pragma once

#include "analyzer/planner/coordination.hpp"
#include "analyzer/session/analysis.hpp"
#include "cli/report/table.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tferry::cli {

/// "gpus=8,link=gen4x16,shared=2,sync=4": GPUs, link of each group, GPUs on it, iterations between
/// synchronisations.
struct WhatIf {
  analyzer::RankLayout layout;
  std::optional<analyzer::LinkRates> link;
};
/// Throws Failure. What is left out: two GPUs, the session's link, all GPUs on it, every iteration.
WhatIf parse_what_if(std::string_view text);

/// Answers of `tferry analyze` that need the analysis itself, not only what is stored of it; all simulated.
Table curve_table(std::span<const analyzer::RankAnalysis> ranks);
/// Throws Failure when no plan was made, or for a tensor that it does not know.
Table explain_table(std::span<const analyzer::RankAnalysis> ranks, const std::string& tensor);
Table what_if_table(std::span<const analyzer::RankAnalysis> ranks, const WhatIf& what_if);

}  // namespace tferry::cli
