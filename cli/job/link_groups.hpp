#pragma once

#include "cli/topology/pcie_tree.hpp"
#include "trace/calibration.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace tferry::cli {

/// Which GPUs of this machine share a link to host memory: the name of its link by PCI address (0000:19:00.0,
/// lower case). GPUs that are not in it have a link each.
using LinkGroups = std::map<std::string, std::string>;

/// From a file of the user's: lines "PCI-ADDRESS NAME", empty lines and what follows a # left out. Throws
/// Failure with the line that is neither.
LinkGroups read_link_groups(const std::filesystem::path& file);

/// What is known about this machine. Where it was measured which GPUs slow each other down, those share a
/// link whose rates together are those alone over `threshold` or less, and no others; a tree may be a virtual
/// machine's. Else GPUs below one port of a root complex share that link.
LinkGroups find_link_groups(std::span<const PcieLink> tree,
                            const std::optional<trace::Calibration>& calibration, double threshold = 1.5);

/// As the runtime library reads it.
std::string link_groups_text(const LinkGroups& groups);

/// GPUs on the link that most share; 0 without groups.
std::size_t largest_group(const LinkGroups& groups);

}  // namespace tferry::cli
