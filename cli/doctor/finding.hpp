#pragma once

#include <string>
#include <vector>

namespace tferry::cli {

/// What a check of `tferry doctor` found.
struct Finding {
  enum class State {
    kUsable,  ///< as it should be, or only worth knowing
    kLost,    ///< works, but something is lost: `fix` says how to get it back
    kBroken   ///< without this nothing works
  };
  std::string check;  ///< "driver", "host memory" ...
  State state = State::kUsable;
  std::string text;
  std::string fix;  ///< empty when usable
};

/// 0 all usable, 1 something is lost, 2 nothing works.
int exit_code_of(const std::vector<Finding>& findings);

/// Whether a check says something about what somebody is up to: "profile", "run" or "coordinate"; empty:
/// anything.
bool matters_for(const std::string& check, const std::string& purpose);

/// One line a finding, its fix below it.
std::string findings_to_text(const std::vector<Finding>& findings);
std::string findings_to_json(const std::vector<Finding>& findings);

}  // namespace tferry::cli
