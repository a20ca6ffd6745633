#pragma once

#include "cli/session/host_facts.hpp"
#include "trace/recording.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::trace {
class SessionWriter;
}

namespace tferry::cli {

/// The spools of one host, and what its launcher left about it.
struct HostSpools {
  std::vector<std::string> spools;
  std::optional<HostFacts> facts;
};

/// Sorts spools by the host that they are of: those of one boot belong together, wherever they lie. Facts are
/// those of the file host.json beside each spool; spools without it are of one host, which nobody knows.
std::vector<HostSpools> group_by_host(const std::vector<std::string>& spools);

/// How far the clocks of these hosts may be apart: the sum of the two largest errors; 0 for one host. Throws
/// Failure if it is not known for one of them, or too large to say what came first.
std::int64_t alignment_error(const std::vector<HostSpools>& hosts);

/// CLOCK_REALTIME less CLOCK_MONOTONIC when the recording began: the middle one of its spools. 0 without
/// spools.
std::int64_t realtime_offset(const trace::Recording& recording);

/// Moves the times of everything that processes with an id above `processes_before`, and devices above
/// `devices_before`, have recorded.
void shift_times(trace::SessionWriter& writer, std::int64_t processes_before, std::int64_t devices_before,
                 std::int64_t shift_ns);

}  // namespace tferry::cli
