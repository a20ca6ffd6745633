#pragma once

#include "cli/status/status_file.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tferry::cli {

/// What became of a plan on a device, as label and text; nothing where there was none. What is unknown says
/// so.
std::vector<std::pair<std::string, std::string>> plan_lines(const DeviceSnapshot& device);

}  // namespace tferry::cli
