#include "cli/session/host_alignment.hpp"

#include "cli/failure.hpp"
#include "trace/session_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestError = 100'000'000;

struct TimeColumns {
  const char* table;
  const char* key;
  std::initializer_list<const char*> columns;
};

const TimeColumns kTimeColumns[] = {
    {"process", "id", {"start_ns", "end_ns"}},
    {"kernel", "process_id", {"start_ns", "end_ns", "call_ns", "return_ns"}},
    {"memcpy", "process_id", {"start_ns", "end_ns", "call_ns", "return_ns"}},
    {"memset", "process_id", {"start_ns", "end_ns", "call_ns", "return_ns"}},
    {"graph_launch", "process_id", {"call_ns", "return_ns"}},
    {"allocation", "process_id", {"alloc_ns", "free_ns"}},
    {"swap", "process_id", {"submit_ns"}},
    {"gate", "process_id", {"start_ns", "end_ns"}},
    {"um_event", "process_id", {"start_ns", "end_ns"}},
    {"sync", "process_id", {"start_ns", "end_ns"}},
    {"marker", "process_id", {"start_ns", "end_ns"}},
    {"overhead", "process_id", {"start_ns", "end_ns"}},
    {"api_call", "process_id", {"start_ns", "end_ns"}},
    {"pool_operation", "process_id", {"start_ns", "end_ns"}},
    {"recorded_range", "process_id", {"start_ns", "end_ns"}},
    {"loss", "process_id", {"first_ns", "last_ns"}},
    {"counter", "device_id", {"start_ns", "end_ns"}},
};

std::string host_name(const HostSpools& host) {
  return host.facts ? host.facts->host : "a host without host.json";
}

}  // namespace

std::vector<HostSpools> group_by_host(const std::vector<std::string>& spools) {
  std::map<std::string, std::optional<HostFacts>> facts_of_folder;
  std::map<std::string, HostSpools> hosts;
  for (const std::string& spool : spools) {
    const fs::path folder = fs::path(spool).parent_path();
    const auto [place, is_new] = facts_of_folder.try_emplace(folder.string());
    if (is_new) place->second = read_host_facts_file(folder / HostFacts::kFile);
    HostSpools& host = hosts[place->second ? place->second->boot_id : ""];
    if (!host.facts) host.facts = place->second;
    host.spools.push_back(spool);
  }
  std::vector<HostSpools> result;
  for (auto& [ignored, host] : hosts) result.push_back(std::move(host));
  std::stable_sort(result.begin(), result.end(),
                   [](const HostSpools& a, const HostSpools& b) { return host_name(a) < host_name(b); });
  return result;
}

std::int64_t alignment_error(const std::vector<HostSpools>& hosts) {
  if (hosts.size() < 2) return 0;
  std::vector<std::int64_t> errors;
  for (const HostSpools& host : hosts) {
    if (!host.facts || !host.facts->clock_error_ns) {
      throw Failure(
          fmt::format("{} cannot be aligned with the others: nothing told how far its clock was off",
                      host_name(host)),
          "synchronise the hosts' clocks (chrony or ntpd) before recording, or merge each host by itself");
    }
    errors.push_back(*host.facts->clock_error_ns);
  }
  std::sort(errors.rbegin(), errors.rend());
  const std::int64_t error = errors[0] + errors[1];
  if (error > kLargestError) {
    throw Failure(
        fmt::format("the hosts' clocks may be {:.1f} ms apart: nobody could say what came first",
                    static_cast<double>(error) / 1e6),
        "synchronise the hosts' clocks (chrony or ntpd) before recording, or merge each host by itself");
  }
  return error;
}

std::int64_t realtime_offset(const trace::Recording& recording) {
  std::vector<std::int64_t> offsets;
  for (const trace::RecordedProcess& process : recording.processes) {
    for (const trace::SpoolSummary& spool : process.spools) {
      offsets.push_back(spool.header.start_realtime_ns - spool.header.start_monotonic_ns);
    }
  }
  if (offsets.empty()) return 0;
  std::sort(offsets.begin(), offsets.end());
  return offsets[offsets.size() / 2];
}

void shift_times(trace::SessionWriter& writer, std::int64_t processes_before, std::int64_t devices_before,
                 std::int64_t shift_ns) {
  if (shift_ns == 0) return;
  for (const TimeColumns& times : kTimeColumns) {
    std::string changes;
    for (const char* column : times.columns) {
      changes += fmt::format("{}{} = {} + ({})", changes.empty() ? "" : ", ", column, column, shift_ns);
    }
    const bool device = std::string_view(times.key) == "device_id";
    writer.execute(fmt::format("UPDATE \"{}\" SET {} WHERE {} > {}", times.table, changes, times.key,
                               device ? devices_before : processes_before));
  }
}

}  // namespace tferry::cli
