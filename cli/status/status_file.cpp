#include "cli/status/status_file.hpp"

#include "cli/status/bounded_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace tferry::cli {
namespace {

using trace::DeviceStatus;
using trace::JobStatus;

static_assert(sizeof(std::atomic<std::int64_t>) == sizeof(std::int64_t),
              "counters are read as plain integers");

struct CounterField {
  const char* name;
  Figure DeviceSnapshot::* member;
  std::size_t offset;
};

#define TFERRY_COUNTER(name) \
  CounterField { #name, &DeviceSnapshot::name, offsetof(DeviceStatus, name) }
constexpr std::array kCounters = {
    TFERRY_COUNTER(budget),
    TFERRY_COUNTER(budget_source),
    TFERRY_COUNTER(card_total),
    TFERRY_COUNTER(card_free),
    TFERRY_COUNTER(chunk_size),
    TFERRY_COUNTER(allocated),
    TFERRY_COUNTER(allocated_peak),
    TFERRY_COUNTER(resident),
    TFERRY_COUNTER(resident_peak),
    TFERRY_COUNTER(parked),
    TFERRY_COUNTER(parked_peak),
    TFERRY_COUNTER(host_slabs),
    TFERRY_COUNTER(bytes_out),
    TFERRY_COUNTER(bytes_in),
    TFERRY_COUNTER(evictions),
    TFERRY_COUNTER(fetches),
    TFERRY_COUNTER(gated_operations),
    TFERRY_COUNTER(host_waits),
    TFERRY_COUNTER(host_wait_ns),
    TFERRY_COUNTER(remaps),
    TFERRY_COUNTER(remap_ns),
    TFERRY_COUNTER(mappings),
    TFERRY_COUNTER(operations),
    TFERRY_COUNTER(allocations),
    TFERRY_COUNTER(out_of_memory),
    TFERRY_COUNTER(driver_retries),
    TFERRY_COUNTER(audit_checks),
    TFERRY_COUNTER(audit_failures),
    TFERRY_COUNTER(scans),
    TFERRY_COUNTER(scan_ns),
    TFERRY_COUNTER(plan_state),
    TFERRY_COUNTER(plan_adoptions),
    TFERRY_COUNTER(plan_iterations),
    TFERRY_COUNTER(plan_iterations_followed),
    TFERRY_COUNTER(plan_operations),
    TFERRY_COUNTER(plan_matched),
    TFERRY_COUNTER(plan_departures),
    TFERRY_COUNTER(plan_rejoins),
    TFERRY_COUNTER(plan_actions_due),
    TFERRY_COUNTER(plan_actions_done),
    TFERRY_COUNTER(plan_placed),
    TFERRY_COUNTER(plan_conflicts),
    TFERRY_COUNTER(plan_surprises),
    TFERRY_COUNTER(plan_late_fetches),
    TFERRY_COUNTER(plan_late_bytes),
    TFERRY_COUNTER(plan_mappings),
    TFERRY_COUNTER(plan_set_up_mappings),
    TFERRY_COUNTER(plan_bytes_out),
    TFERRY_COUNTER(plan_bytes_in),
    TFERRY_COUNTER(plan_iterations_timed),
    TFERRY_COUNTER(plan_last_ns),
    TFERRY_COUNTER(plan_measured_ns),
    TFERRY_COUNTER(plan_off_timed),
    TFERRY_COUNTER(plan_off_ns),
    TFERRY_COUNTER(plan_predicted_ns),
    TFERRY_COUNTER(plan_bound_ns),
    TFERRY_COUNTER(plan_in_memory_ns),
    TFERRY_COUNTER(plan_forced_bytes),
    TFERRY_COUNTER(slot_members),
    TFERRY_COUNTER(slot_rank),
    TFERRY_COUNTER(slots_asked),
    TFERRY_COUNTER(slots_granted),
    TFERRY_COUNTER(slots_used),
    TFERRY_COUNTER(slots_ahead),
    TFERRY_COUNTER(slots_expired),
    TFERRY_COUNTER(slot_wait_ns),
    TFERRY_COUNTER(route),
    TFERRY_COUNTER(plan_route),
};
#undef TFERRY_COUNTER
static_assert((kCounters.size() + 2 * static_cast<std::size_t>(trace::ResidentReason::kCount)) *
                      sizeof(std::int64_t) ==
                  sizeof(DeviceStatus),
              "every counter of DeviceStatus is read");

Figure load(const std::byte* from) {
  std::int64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value < 0 ? Figure() : Figure(value);
}

template <typename T>
T load_as(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::string load_text(const std::byte* from, std::size_t capacity) {
  std::string text(capacity, '\0');
  std::memcpy(text.data(), from, capacity);
  text.resize(std::min(text.find('\0'), capacity));
  // The terminal and JSON get no control characters and no broken UTF-8 from a job's file.
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

DeviceSnapshot load_device(const std::byte* base, int device) {
  DeviceSnapshot snapshot;
  snapshot.device = device;
  for (const CounterField& field : kCounters) snapshot.*field.member = load(base + field.offset);
  for (std::size_t reason = 0; reason < snapshot.resident_count.size(); ++reason) {
    const std::size_t step = reason * sizeof(std::int64_t);
    snapshot.resident_count[reason] = load(base + offsetof(DeviceStatus, resident_count) + step);
    snapshot.resident_bytes[reason] = load(base + offsetof(DeviceStatus, resident_bytes) + step);
  }
  return snapshot;
}

std::optional<std::int64_t> parse_pid(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int64_t pid = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (name.empty() || parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size() || pid <= 0) {
    return std::nullopt;
  }
  return pid;
}

}  // namespace

std::vector<std::pair<const char*, Figure>> DeviceSnapshot::named() const {
  std::vector<std::pair<const char*, Figure>> result;
  for (const CounterField& field : kCounters) result.emplace_back(field.name, this->*field.member);
  return result;
}

bool DeviceSnapshot::by_planned_route() const {
  return route.value_or(0) == 0 || plan_route.value_or(0) == 0 || route == plan_route;
}

bool DeviceSnapshot::used() const {
  return budget.value_or(0) > 0 || operations.value_or(0) > 0 || allocations.value_or(0) > 0;
}

bool ProcessSnapshot::reached(trace::JobStage stage_wanted) const {
  return stage.value_or(0) >= static_cast<std::int64_t>(stage_wanted);
}

StatusFileRead read_status_file(const std::filesystem::path& path) {
  const BoundedFile file(path, sizeof(JobStatus));
  if (!file.ok()) return {std::nullopt, file.defect()};
  const std::byte* const base = file.bytes().data();
  if (file.bytes().size() < sizeof(JobStatus)) {
    return {std::nullopt,
            fmt::format("cut off after {} bytes of {}", file.bytes().size(), sizeof(JobStatus))};
  }
  if (load_as<std::uint64_t>(base + offsetof(JobStatus, magic)) != trace::kJobStatusMagic) {
    return {std::nullopt, "not a status file, or its process ended before it was filled in"};
  }
  const auto version = load_as<std::uint32_t>(base + offsetof(JobStatus, version));
  const auto size = load_as<std::uint32_t>(base + offsetof(JobStatus, size));
  if (version != trace::kJobStatusVersion || size != sizeof(JobStatus)) {
    return {std::nullopt,
            fmt::format("written by another version of the runtime library (version {}, {} bytes)", version,
                        size)};
  }
  ProcessSnapshot process;
  process.pid = load(base + offsetof(JobStatus, pid)).value_or(0);
  process.stage = load(base + offsetof(JobStatus, stage));
  process.driver_loaded = load(base + offsetof(JobStatus, driver_loaded));
  process.started_ns = load(base + offsetof(JobStatus, started_ns));
  process.ended_ns = load(base + offsetof(JobStatus, ended_ns));
  process.command = load_text(base + offsetof(JobStatus, command), sizeof(JobStatus::command));
  process.message = load_text(base + offsetof(JobStatus, message), sizeof(JobStatus::message));
  for (int device = 0; device < trace::kMaxDevices; ++device) {
    const auto step = static_cast<std::size_t>(device) * sizeof(DeviceStatus);
    DeviceSnapshot snapshot = load_device(base + offsetof(JobStatus, device) + step, device);
    if (snapshot.used()) process.devices.push_back(snapshot);
  }
  return {std::move(process), ""};
}

StatusDirectoryRead read_status_directory(const std::filesystem::path& directory, std::size_t limit) {
  StatusDirectoryRead result;
  std::vector<std::pair<std::int64_t, std::filesystem::path>> files;
  std::error_code error;
  std::size_t left_out = 0;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = parse_pid(entry->path().filename().string(), "status.");
    if (!pid) continue;
    if (files.size() < limit) {
      files.emplace_back(*pid, entry->path());
    } else {
      ++left_out;
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& [pid, path] : files) {
    StatusFileRead read = read_status_file(path);
    if (!read.process) {
      result.defects.push_back(fmt::format("{}: {}", path.filename().string(), read.defect));
      continue;
    }
    read.process->pid = pid;  // the name is what operations.PID is found by
    result.processes.push_back(std::move(*read.process));
  }
  if (error) result.defects.push_back(fmt::format("{}: {}", directory.string(), error.message()));
  if (left_out > 0) result.defects.push_back(fmt::format("{} more status files were not read", left_out));
  return result;
}

std::optional<std::string> route_taken_name(const Figure& route) {
  switch (static_cast<trace::RouteTaken>(route.value_or(0))) {
    case trace::RouteTaken::kUnknown:
      break;
    case trace::RouteTaken::kDirect:
      return "direct";
    case trace::RouteTaken::kNeighbour:
      return "neighbour";
    case trace::RouteTaken::kBoth:
      return "both";
    case trace::RouteTaken::kLeft:
      return "left";
  }
  return std::nullopt;
}

const char* resident_reason_text(trace::ResidentReason reason) {
  switch (reason) {
    case trace::ResidentReason::kSmall:
      return "small";
    case trace::ResidentReason::kNeverNamed:
      return "not named by any launch";
    case trace::ResidentReason::kPointedTo:
      return "pointed to from device memory";
    case trace::ResidentReason::kCaptured:
      return "used by a CUDA graph";
    case trace::ResidentReason::kShared:
      return "exported or registered";
    case trace::ResidentReason::kCollective:
      return "given to NCCL";
    case trace::ResidentReason::kForeign:
      return "managed, imported or arrays";
    case trace::ResidentReason::kCount:
      break;
  }
  return "unknown reason";
}

}  // namespace tferry::cli
