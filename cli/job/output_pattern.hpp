#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::cli {

class Environment;

/// Expands the file name that a user gave: %h is the host's name, %p the process id of this tferry, %q{NAME}
/// the value of an environment variable, %% a per cent sign. Characters of values that would leave the folder
/// ('/') become '_'. Throws Failure for anything else behind a %, and for a variable that is not set.
std::string expand_output_pattern(std::string_view pattern, const Environment& environment);

/// What a recording of a job is called: the program's name, or that of the script or module that an
/// interpreter runs ("python -u train.py" is "train").
std::string recording_name(const std::vector<std::string>& job);

/// NAME.N.tferry in `folder`, N one more than the largest there, from 1.
std::filesystem::path next_session_path(const std::filesystem::path& folder, const std::string& name);

}  // namespace tferry::cli
