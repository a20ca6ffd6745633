#include "cli/plan/slot_rows.hpp"

#include "trace/slot_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tferry::cli {
namespace {

constexpr std::string_view kLogName = "slots.";

const char* use_text(trace::SlotUse use) {
  switch (use) {
    case trace::SlotUse::kGranted:
      return "granted";
    case trace::SlotUse::kAhead:
      return "ahead";
    case trace::SlotUse::kExpired:
      return "expired";
  }
  return "";
}

/// The process that wrote a log; 0: it is none.
std::int64_t process_of(const std::string& name) {
  std::int64_t pid = 0;
  if (!name.starts_with(kLogName)) return 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + kLogName.size(), end, pid);
  return read.ec == std::errc() && read.ptr == end && pid > 0 ? pid : 0;
}

}  // namespace

void keep_slot_use(trace::SessionWriter& writer, const RunSummary& summary) {
  for (const ProcessSummary& process : summary.processes) {
    for (const DeviceSummary& device : process.devices) {
      const DeviceSnapshot& counters = device.counters;
      if (counters.slot_members.value_or(0) < 1) continue;
      trace::SlotUseRow row{.pid = process.process.pid, .device_ordinal = counters.device};
      if (counters.slot_rank.value_or(0) > 0) row.rank = *counters.slot_rank - 1;
      row.gpus_on_link = counters.slot_members;
      row.asked = counters.slots_asked;
      row.granted = counters.slots_granted;
      row.used = counters.slots_used;
      row.ahead = counters.slots_ahead;
      row.expired = counters.slots_expired;
      row.wait_ns = counters.slot_wait_ns;
      writer.insert(row);
    }
  }
}

void keep_slots(trace::SessionWriter& writer, const std::filesystem::path& run_directory) {
  std::map<std::int64_t, trace::SlotLog> logs;  // by process
  std::size_t damaged = 0;
  std::string missing;
  for (const auto& entry : std::filesystem::directory_iterator(run_directory)) {
    const std::int64_t pid = process_of(entry.path().filename().string());
    if (pid == 0) continue;
    try {
      const trace::SlotLog& log = logs[pid] = trace::read_slot_log(entry.path().string());
      damaged += log.damaged;
      if (log.full) missing += fmt::format("process {} took more turns than are kept; ", pid);
    } catch (const std::runtime_error& error) {
      missing += fmt::format("{}; ", error.what());
    }
  }
  if (damaged > 0) missing += fmt::format("{} turns are damaged; ", damaged);
  if (!missing.empty()) writer.set_meta("slots.missing", missing.substr(0, missing.size() - 2));

  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::map<std::uint64_t, std::int64_t> links;
  for (const auto& [pid, log] : logs) {
    for (const trace::SlotEntry& slot : log.entries) {
      first = std::min(first, slot.asked_ns);
      links.try_emplace(slot.link, static_cast<std::int64_t>(links.size()) + 1);
    }
  }
  for (const auto& [pid, log] : logs) {
    for (const trace::SlotEntry& slot : log.entries) {
      trace::SlotRow row{.pid = pid, .device_ordinal = slot.device};
      if (slot.rank >= 0) row.rank = slot.rank;
      row.link = links.at(slot.link);
      row.direction = slot.direction;
      row.use = use_text(slot.use);
      row.bytes = static_cast<std::int64_t>(slot.bytes);
      row.iteration = static_cast<std::int64_t>(slot.round);
      row.asked_ns = slot.asked_ns - first;
      row.granted_ns = slot.granted_ns - first;
      row.ended_ns = slot.ended_ns - first;
      writer.insert(row);
    }
  }
}

}  // namespace tferry::cli
