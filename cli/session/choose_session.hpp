#pragma once

#include "trace/session.hpp"

#include <filesystem>
#include <string>

namespace tferry::cli {

class Failure;

/// The session that a command is about: the one named, or else the newest *.tferry in the current folder
/// (by time of change; of equal ones the later name). `chosen_for_you` tells which it was. Throws Failure
/// where there is none.
struct SessionChoice {
  std::filesystem::path path;
  bool chosen_for_you = false;
};
SessionChoice choose_session(const std::string& named);

/// What to do about a session that cannot be used.
Failure session_failure(const trace::SessionError& error);

}  // namespace tferry::cli
