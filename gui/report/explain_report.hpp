#pragma once

#include "cli/report/scope.hpp"
#include "cli/report/table.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tferry::gui {

/// Told the share that is done; throws where the work is not wanted any more.
using Step = std::function<void(double share)>;

/// Why a plan moves a tensor or lets it stay, gap by gap: what `tferry analyze --explain TENSOR` tells, of a
/// plan that is stored in the session (0: the newest that knows the tensor). Takes seconds. Throws
/// trace::SessionError; what else is in the way is a note.
std::vector<cli::Table> explain_tensor_of_plan(const cli::Scope& scope, const std::string& tensor,
                                               std::int64_t plan, const Step& step);

/// What a plan for that budget would move: simulated now, stored nowhere. Takes seconds. Throws
/// trace::SessionError.
std::vector<cli::Table> plan_for_budget(const cli::Scope& scope, std::int64_t budget_bytes, const Step& step);

}  // namespace tferry::gui
