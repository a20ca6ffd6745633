#pragma once

#include "analyzer/session/analysis.hpp"
#include "trace/session.hpp"
#include "trace/session_rows.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::analyzer {

/// A plan that cannot be used, and what to do about it.
class PlanError : public std::runtime_error {
 public:
  PlanError(const std::string& what, std::string remedy)
      : std::runtime_error(what), remedy_(std::move(remedy)) {}
  const std::string& remedy() const { return remedy_; }

 private:
  std::string remedy_;
};

/// A plan of a session, with its places found again.
struct StoredPlan {
  trace::PlanRow row;
  RankAnalysis rank;  ///< of the recording that it was made for, counted as it was
  PlacedPlan placed;
  std::uint32_t ordinal = 0;  ///< of its GPU in its process
};

/// Reads a plan, the newest where no `id` is given, and everything it was made for, and checks all of it:
/// that the recording is still the one (iteration and tensors), that the actions are those it was stored with
/// (SHA-256), that they can be followed, and that places are found for them. Throws PlanError where they are
/// not, trace::SessionError when the file is damaged.
StoredPlan load_plan(trace::Session& session, std::optional<std::int64_t> id);

/// What is wrong with a plan in JSON (docs/plan.md) for the same workload as `stored`, all of it; empty: it
/// replaces plan and placement of `stored`, with a new prediction.
std::vector<std::string> replace_plan(StoredPlan& stored, std::string_view json);

}  // namespace tferry::analyzer
