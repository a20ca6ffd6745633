#pragma once

#include <string>
#include <string_view>

namespace tferry::cli {

/// The file that a shell would execute for `name`: itself if it has a slash, otherwise the first executable
/// file of that name in `search_path` (the value of PATH; empty entries mean the current folder). Throws
/// Failure with exit code kNotFound, or kNotExecutable where only files without permission, or directories,
/// were found.
std::string resolve_program(const std::string& name, std::string_view search_path);

}  // namespace tferry::cli
