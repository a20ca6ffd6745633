#pragma once

#include "cli/session/host_alignment.hpp"
#include "cli/session/page_accesses.hpp"
#include "cli/status/status_file.hpp"
#include "trace/ingest.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tferry::cli {

/// The spools in a folder: spool.PID.SOURCE.N, by name.
std::vector<std::string> find_spools(const std::filesystem::path& folder);

/// What the launcher knows beside the spools.
struct SessionExtras {
  std::vector<std::pair<std::string, std::string>> meta;  ///< key and value for table meta
  std::vector<trace::LossRow> missing;                    ///< what was not recorded at all
  std::vector<ProcessSnapshot> processes;                 ///< their budgets
  bool name_by_nvtx = true;   ///< allocations after the NVTX ranges in which they were made
  bool access_pages = false;  ///< the access pass by pages was asked for
};

struct BuiltSession {
  std::filesystem::path path;
  std::int64_t bytes = 0;
  trace::IngestReport report;
  std::int64_t alignment_error_ns = 0;  ///< between hosts
  PageAccesses pages;                   ///< what the access pass by pages found, if there was one
};

/// Spools of one host or of several into a session, built beside its final name and renamed. Times are those
/// of the first host's clock. Throws trace::SessionError, and Failure if the hosts cannot be aligned; then
/// there is no file.
BuiltSession build_session(const std::vector<HostSpools>& hosts, const std::filesystem::path& path,
                           bool force, const SessionExtras& extras);

/// What a job's spools show to be missing altogether, with the likely reason.
struct RecordingExpectation {
  bool hooks = true;
  std::vector<std::string> collector_problems;  ///< known before the job started
  std::string counters_problem;                 ///< empty: counters were sampled
  bool counters = true;
};
std::vector<trace::LossRow> find_gaps(const std::vector<std::string>& spools,
                                      const RecordingExpectation& expected,
                                      const std::vector<ProcessSnapshot>& processes);

/// The lines to tell a user about a session's losses, the most telling first; at most `limit`, and one that
/// says how many more there are.
std::vector<std::string> describe_losses(const std::filesystem::path& session, std::size_t limit);

}  // namespace tferry::cli
