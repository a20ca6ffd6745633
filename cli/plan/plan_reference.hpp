#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tferry::cli {

/// A plan as the command line names it: SESSION or SESSION:N, N being the plan's number in the session.
struct PlanReference {
  std::filesystem::path session;
  std::optional<std::int64_t> plan;  ///< unset: the newest
  bool chosen_for_you = false;       ///< no session was named: it is the newest here
};

/// A name that is a file's as it stands is taken for that. Empty text: the newest session here. Throws
/// Failure where there is none, and for a number that is none.
PlanReference find_plan(const std::string& text);

}  // namespace tferry::cli
