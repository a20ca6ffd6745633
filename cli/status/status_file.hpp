#pragma once

#include "trace/job_status.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// A counter as the job wrote it. Unset: unknown (a negative value in the file); never to be shown as 0.
using Figure = std::optional<std::int64_t>;

/// trace::DeviceStatus read at one moment; the units are those there.
struct DeviceSnapshot {
  int device = 0;
  Figure budget, budget_source, card_total, card_free, chunk_size, allocated, allocated_peak, resident,
      resident_peak, parked, parked_peak, host_slabs, bytes_out, bytes_in, evictions, fetches,
      gated_operations, host_waits, host_wait_ns, remaps, remap_ns, mappings, operations, allocations,
      out_of_memory, driver_retries, audit_checks, audit_failures, scans, scan_ns;
  Figure plan_state, plan_adoptions, plan_iterations, plan_iterations_followed, plan_operations, plan_matched,
      plan_departures, plan_rejoins, plan_actions_due, plan_actions_done, plan_placed, plan_conflicts,
      plan_surprises, plan_late_fetches, plan_late_bytes, plan_mappings, plan_set_up_mappings, plan_bytes_out,
      plan_bytes_in, plan_iterations_timed, plan_last_ns, plan_measured_ns, plan_off_timed, plan_off_ns,
      plan_predicted_ns, plan_bound_ns, plan_in_memory_ns, plan_forced_bytes;
  Figure slot_members, slot_rank, slots_asked, slots_granted, slots_used, slots_ahead, slots_expired,
      slot_wait_ns;
  Figure route, plan_route;
  std::array<Figure, static_cast<std::size_t>(trace::ResidentReason::kCount)> resident_count, resident_bytes;

  /// Name (as in trace/job_status.hpp) and value of every scalar counter, for JSON and tests.
  std::vector<std::pair<const char*, Figure>> named() const;
  /// Whether the plan in place, if there is one, is for the way by which contents moved, as far as both are
  /// known. Otherwise its prediction and its bound tell nothing of this run.
  bool by_planned_route() const;
  /// True if the program did anything on this device.
  bool used() const;
};

/// trace::JobStatus of one process, with the devices that it used.
struct ProcessSnapshot {
  std::int64_t pid = 0;
  Figure stage, driver_loaded, started_ns, ended_ns;
  std::string command;  ///< printable characters only
  std::string message;
  std::vector<DeviceSnapshot> devices;

  bool reached(trace::JobStage stage_wanted) const;
};

struct StatusFileRead {
  std::optional<ProcessSnapshot> process;
  std::string defect;  ///< why there is no process; empty otherwise
};

/// Reads `status.PID`. Nothing in the file is trusted: not its length, magic, version or size, nor text
/// without an end, nor that it is a regular file. Links are not followed. Does not throw for bad files.
StatusFileRead read_status_file(const std::filesystem::path& path);

struct StatusDirectoryRead {
  std::vector<ProcessSnapshot> processes;  ///< by process id
  std::vector<std::string> defects;        ///< one per unreadable file: name and reason
};

/// Every `status.PID` of a run directory, at most `limit` of them; the rest is counted as one defect.
StatusDirectoryRead read_status_directory(const std::filesystem::path& directory, std::size_t limit = 4096);

/// "direct", "neighbour", "both", or "left" for a neighbour's link that was given up; unset: not known.
std::optional<std::string> route_taken_name(const Figure& route);

/// "small", "never named by a launch" ...: trace::ResidentReason in words.
const char* resident_reason_text(trace::ResidentReason reason);

}  // namespace tferry::cli
