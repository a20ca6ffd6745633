#pragma once

#include "trace/rank.hpp"
#include "trace/records.hpp"
#include "trace/spool_writer.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tferry::collector {

using trace::Rank;

/// The arguments as one line, with what looks like a secret replaced by "***": values of options and
/// assignments named like a key, token or password, credentials in URLs, and well-known token forms.
/// Arguments with blanks are quoted; at most 4 KiB.
std::string masked_command(const std::vector<std::string>& arguments);

/// The arguments of this process, from /proc.
std::vector<std::string> command_arguments();

/// The record with all of it.
trace::ProcessRecord process_record(trace::SpoolWriter& spool, int driver_version);

}  // namespace tferry::collector
