#include "cli/byte_size.hpp"
#include "cli/report/route_text.hpp"
#include "cli/report/run_summary.hpp"
#include "cli/report/run_summary_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

namespace tferry::cli {
namespace {

constexpr std::size_t kMaxBlocks = 8;

std::string bytes(Figure figure) { return figure ? format_bytes(*figure) : "unknown"; }
std::string count(Figure figure) { return figure ? std::to_string(*figure) : "unknown"; }
std::string milliseconds(Figure nanoseconds) {
  if (!nanoseconds) return "unknown time";
  const double value = static_cast<double>(*nanoseconds) / 1e6;
  return fmt::format("{:.{}f} ms", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string budget_source(const DeviceSnapshot& device) {
  switch (static_cast<trace::BudgetSource>(device.budget_source.value_or(-1))) {
    case trace::BudgetSource::kAuto:
      return "automatic: what the card had free, less a reserve";
    case trace::BudgetSource::kBytes:
      return "from --budget";
    case trace::BudgetSource::kPercent:
      return "from --budget, a share of the card";
    case trace::BudgetSource::kUnlimited:
      return "unlimited";
  }
  return "source unknown";
}

std::string budget_line(const DeviceSnapshot& device) {
  if (device.budget_source == static_cast<std::int64_t>(trace::BudgetSource::kUnlimited)) return "unlimited";
  if (!device.budget || *device.budget == 0) return "unknown";
  return fmt::format("{}, {}", format_bytes_exact(*device.budget), budget_source(device));
}

/// The share of a total that an iteration has on average, by its share of the operations.
Figure average_per_iteration(const DeviceSummary& summary, Figure total) {
  if (!summary.iterations || !total || summary.counters.operations.value_or(0) <= 0) return std::nullopt;
  const double share =
      static_cast<double>(summary.iterations->operations) / static_cast<double>(*summary.counters.operations);
  return static_cast<std::int64_t>(static_cast<double>(*total) * share);
}

std::string bytes_per_iteration(const DeviceSummary& summary, Figure median, Figure total) {
  if (median) return bytes(median);
  const Figure average = average_per_iteration(summary, total);
  return average ? "about " + bytes(average) : "unknown";
}

std::string moved_line(const DeviceSummary& summary) {
  const DeviceSnapshot& device = summary.counters;
  if (device.bytes_out == 0 && device.bytes_in == 0) return "nothing: it fits";
  const std::string in_all =
      fmt::format("{} parked and {} fetched in all", bytes(device.bytes_out), bytes(device.bytes_in));
  if (!summary.iterations) return in_all;
  return fmt::format("{} parked and {} fetched per iteration; {}",
                     bytes_per_iteration(summary, summary.iterations->parked_bytes, device.bytes_out),
                     bytes_per_iteration(summary, summary.iterations->fetched_bytes, device.bytes_in),
                     in_all);
}

std::string waits_line(const DeviceSummary& summary) {
  const DeviceSnapshot& device = summary.counters;
  std::string line;
  if (summary.iterations) {
    line =
        fmt::format("{} operations waited for memory per iteration; ", summary.iterations->gated_operations);
  }
  line += fmt::format("{} in all; the calling thread waited {} times, {}", count(device.gated_operations),
                      count(device.host_waits), milliseconds(device.host_wait_ns));
  if (const Figure average = average_per_iteration(summary, device.host_wait_ns)) {
    line += fmt::format(" ({} per iteration on average)", milliseconds(average));
  }
  return line;
}

std::string time_line(const DeviceSummary& summary) {
  if (!summary.iterations) return fmt::format("per iteration unknown: {}", summary.iterations_unknown);
  const IterationFigures& figures = *summary.iterations;
  std::string line =
      figures.time_ns ? milliseconds(figures.time_ns) + " per iteration" : "per iteration unknown";
  line += fmt::format(" (medians of {} of {} iterations of {} operations", figures.measured, figures.found,
                      figures.operations);
  if (figures.accumulation > 1) line += fmt::format(", each {} micro-batches", figures.accumulation);
  return line + ")";
}

std::string staying_line(const DeviceSnapshot& device) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < device.resident_count.size(); ++i) {
    if (device.resident_count[i] == 0) continue;
    reasons.push_back(fmt::format("{} in {} ({})", bytes(device.resident_bytes[i]),
                                  count(device.resident_count[i]),
                                  resident_reason_text(static_cast<trace::ResidentReason>(i))));
  }
  return reasons.empty() ? "nothing: all could move" : fmt::format("{}", fmt::join(reasons, ", "));
}

/// What taking turns with other ranks came to.
std::string turns_line(const DeviceSnapshot& device) {
  return fmt::format(
      "{} GPUs took turns on the link; {} asked for, {} granted after {} of waiting in sum, {} without "
      "asking; {} "
      "outlasted the lease",
      count(device.slot_members), count(device.slots_asked), count(device.slots_granted),
      milliseconds(device.slot_wait_ns), count(device.slots_ahead), count(device.slots_expired));
}

std::string device_block(const ProcessSnapshot& process, const DeviceSummary& summary) {
  const DeviceSnapshot& device = summary.counters;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} (process {}), device {}", process.command.empty() ? "?" : process.command,
                              process.pid, device.device));
  const auto add = [&lines](const char* label, const std::string& text) {
    lines.push_back(fmt::format("  {:<10} {}", label, text));
  };
  add("budget", budget_line(device));
  add("footprint",
      fmt::format("{} at its peak; on the card at most {}, parked at most {}", bytes(device.allocated_peak),
                  bytes(device.resident_peak), bytes(device.parked_peak)));
  add("moved", moved_line(summary));
  const auto route = route_taken_name(device.route);
  if (route && *route != "direct") add("route", "contents went " + route_text(route));
  add("waits", waits_line(summary));
  add("time", time_line(summary));
  add("stays", staying_line(device));
  add("work", fmt::format("{} remaps ({}), {} out-of-memory answers, {} calls repeated for want of memory",
                          count(device.remaps), milliseconds(device.remap_ns), count(device.out_of_memory),
                          count(device.driver_retries)));
  for (const auto& [label, text] : plan_lines(device)) add(label.c_str(), text);
  if (device.slot_members.value_or(2) > 1) add("turns", turns_line(device));
  if (device.audit_checks != 0) {
    add("audit", fmt::format("{} contents compared, {} differed", count(device.audit_checks),
                             count(device.audit_failures)));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string end_line(const RunSummary& summary) {
  const std::string duration = fmt::format("{:.2f} s", static_cast<double>(summary.end.duration_ns) / 1e9);
  if (summary.end.signalled) {
    const char* name = ::sigabbrev_np(summary.end.code);
    return fmt::format("{} was ended by signal {} ({}) after {}", summary.program, summary.end.code,
                       name == nullptr ? "?" : name, duration);
  }
  return fmt::format("{} ended with exit code {} after {}", summary.program, summary.end.code, duration);
}

}  // namespace

std::string to_text(const RunSummary& summary) {
  std::vector<std::string> parts = {end_line(summary)};
  if (!summary.plan.empty()) {
    parts.push_back("plan: " + summary.plan +
                    (summary.plan_link.empty() ? "" : ", for contents that go " + summary.plan_link));
  }
  std::size_t left_out = 0;
  for (const ProcessSummary& process : summary.processes) {
    for (const DeviceSummary& device : process.devices) {
      if (parts.size() > kMaxBlocks) {
        ++left_out;
      } else {
        parts.push_back(device_block(process.process, device));
      }
    }
  }
  if (left_out > 0) parts.push_back(fmt::format("{} more devices of processes: see --json FILE", left_out));
  for (const std::string& note : summary.notes) parts.push_back("note: " + note);
  for (const std::string& defect : summary.defects) parts.push_back("unreadable: " + defect);
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace tferry::cli
