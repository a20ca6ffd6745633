#include "cli/report/run_summary_plan.hpp"

#include "cli/byte_size.hpp"
#include "cli/report/route_text.hpp"

#include <fmt/format.h>

namespace tferry::cli {
namespace {

std::string count(Figure figure) { return figure ? std::to_string(*figure) : "unknown"; }

/// 0 stands for unknown in the plan's own figures.
std::string milliseconds(Figure nanoseconds) {
  if (nanoseconds.value_or(0) <= 0) return "unknown";
  return fmt::format("{:.1f} ms", static_cast<double>(*nanoseconds) / 1e6);
}

std::string share(Figure part, Figure whole) {
  if (!part || whole.value_or(0) <= 0) return "unknown";
  return fmt::format("{:.1f}%", 100 * static_cast<double>(*part) / static_cast<double>(*whole));
}

Figure each(Figure sum, Figure iterations) {
  return sum && iterations.value_or(0) > 0 ? Figure(*sum / *iterations) : std::nullopt;
}

std::string state(const DeviceSnapshot& device) {
  switch (static_cast<trace::PlanState>(device.plan_state.value_or(0))) {
    case trace::PlanState::kNone:
      return "";
    case trace::PlanState::kLooking:
      return "not followed: the job's operations were not found in it";
    case trace::PlanState::kObserving:
      return "not followed: the job ended before all its tensors were known";
    case trace::PlanState::kForeign:
      return "not followed: it is for another program";
    case trace::PlanState::kRefused:
      return "not followed: it was refused";
    case trace::PlanState::kCostly:
      return "left: it cost more than it brought";
    case trace::PlanState::kFollowing:
    case trace::PlanState::kAstray:
      break;
  }
  return "followed";
}

std::string followed_line(const DeviceSnapshot& device) {
  std::string line = state(device);
  if (device.plan_adoptions.value_or(0) == 0) return line;
  return fmt::format("{} in {} of {} iterations, {} of the operations; left {} times, found again {} times",
                     line.starts_with("followed") ? "followed" : line + "; before, it was followed",
                     count(device.plan_iterations_followed), count(device.plan_iterations),
                     share(device.plan_matched, device.plan_operations), count(device.plan_departures),
                     count(device.plan_rejoins));
}

std::string actions_line(const DeviceSnapshot& device) {
  return fmt::format(
      "{} of {} done ({}); {} late fetches; {} mapping calls in planned iterations, {} to set up",
      count(device.plan_actions_done), count(device.plan_actions_due),
      share(device.plan_actions_done, device.plan_actions_due), count(device.plan_late_fetches),
      count(device.plan_mappings), count(device.plan_set_up_mappings));
}

std::string bytes_line(const DeviceSnapshot& device) {
  const Figure out = each(device.plan_bytes_out, device.plan_iterations_followed);
  const Figure in = each(device.plan_bytes_in, device.plan_iterations_followed);
  const auto bytes = [](Figure figure) { return figure ? format_bytes(*figure) : "unknown"; };
  std::string line = fmt::format("{} out and {} in per followed iteration", bytes(out), bytes(in));
  if (device.plan_forced_bytes.value_or(0) > 0)
    line += fmt::format("; at least {} both ways together", bytes(device.plan_forced_bytes));
  return line;
}

std::string times_line(const DeviceSnapshot& device) {
  const Figure measured = each(device.plan_measured_ns, device.plan_iterations_timed);
  std::string line = "measured " + milliseconds(measured);
  if (!device.by_planned_route()) {
    return fmt::format(
        "{}, in memory {}; prediction and bound are not compared: they are for contents that go {}, and "
        "these "
        "went {}",
        line, milliseconds(device.plan_in_memory_ns), route_text(route_taken_name(device.plan_route)),
        route_text(route_taken_name(device.route)));
  }
  if (measured && device.plan_bound_ns.value_or(0) > *measured)
    line += " (below the bound: an error of the model)";
  return fmt::format("{}, predicted {}, bound {}, in memory {}", line, milliseconds(device.plan_predicted_ns),
                     milliseconds(device.plan_bound_ns), milliseconds(device.plan_in_memory_ns));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> plan_lines(const DeviceSnapshot& device) {
  if (device.plan_state.value_or(0) == 0) return {};
  std::vector<std::pair<std::string, std::string>> lines = {{"plan", followed_line(device)}};
  if (device.plan_adoptions.value_or(0) == 0) return lines;
  lines.emplace_back("actions", actions_line(device));
  lines.emplace_back("planned", bytes_line(device));
  lines.emplace_back("", times_line(device));
  return lines;
}

}  // namespace tferry::cli
