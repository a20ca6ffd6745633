#include "cli/report/run_summary.hpp"

#include <nlohmann/json.hpp>

#include <optional>

namespace tferry::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json stage(const Figure& figure) {
  if (!figure) return nullptr;
  switch (static_cast<trace::JobStage>(*figure)) {
    case trace::JobStage::kLoaded:
      return "loaded";
    case trace::JobStage::kDriverFound:
      return "driver_found";
    case trace::JobStage::kHooked:
      return "hooked";
    case trace::JobStage::kManaging:
      return "managing";
    case trace::JobStage::kOff:
      return "off";
  }
  return nullptr;
}

Json budget_source(const Figure& figure) {
  if (!figure) return nullptr;
  switch (static_cast<trace::BudgetSource>(*figure)) {
    case trace::BudgetSource::kAuto:
      return "auto";
    case trace::BudgetSource::kBytes:
      return "bytes";
    case trace::BudgetSource::kPercent:
      return "percent";
    case trace::BudgetSource::kUnlimited:
      return "unlimited";
  }
  return nullptr;
}

Json iterations(const IterationFigures& figures) {
  return {{"found", figures.found},
          {"measured", figures.measured},
          {"operations", figures.operations},
          {"accumulation", figures.accumulation},
          {"confidence", figures.confidence},
          {"time_ns", or_null(figures.time_ns)},
          {"parked_bytes", or_null(figures.parked_bytes)},
          {"fetched_bytes", or_null(figures.fetched_bytes)},
          {"gated_operations", figures.gated_operations}};
}

Json device(const DeviceSummary& summary) {
  const DeviceSnapshot& counters = summary.counters;
  Json result = {{"device", counters.device}};
  for (const auto& [name, value] : counters.named()) result[name] = or_null(value);
  result["budget_source"] = budget_source(counters.budget_source);
  result["route"] = or_null(route_taken_name(counters.route));
  result["plan_route"] = or_null(route_taken_name(counters.plan_route));
  Json staying = Json::array();
  for (std::size_t i = 0; i < counters.resident_count.size(); ++i) {
    staying.push_back({{"reason", resident_reason_text(static_cast<trace::ResidentReason>(i))},
                       {"count", or_null(counters.resident_count[i])},
                       {"bytes", or_null(counters.resident_bytes[i])}});
  }
  result["resident_reasons"] = std::move(staying);
  result["iterations"] = summary.iterations ? iterations(*summary.iterations) : Json(nullptr);
  if (!summary.iterations) result["iterations_unknown_because"] = summary.iterations_unknown;
  return result;
}

Json process(const ProcessSummary& summary) {
  const ProcessSnapshot& snapshot = summary.process;
  Json result = {
      {"pid", snapshot.pid},
      {"command", snapshot.command},
      {"stage", stage(snapshot.stage)},
      {"driver_loaded", snapshot.driver_loaded ? Json(*snapshot.driver_loaded != 0) : Json(nullptr)},
      {"started_ns", or_null(snapshot.started_ns)},
      {"ended_ns", snapshot.ended_ns.value_or(0) > 0 ? Json(*snapshot.ended_ns) : Json(nullptr)},
      {"message", snapshot.message},
      {"devices", Json::array()}};
  for (const DeviceSummary& entry : summary.devices) result["devices"].push_back(device(entry));
  return result;
}

}  // namespace

std::string to_json(const RunSummary& summary) {
  Json result = {{"format", "tferry-run"},
                 {"version", 1},
                 {"tferry", TFERRY_VERSION},
                 {"program", summary.program},
                 {"exit_code", summary.end.signalled ? Json(nullptr) : Json(summary.end.code)},
                 {"signal", summary.end.signalled ? Json(summary.end.code) : Json(nullptr)},
                 {"duration_ns", summary.end.duration_ns},
                 {"requested_budget", summary.requested_budget},
                 {"plan", summary.plan.empty() ? Json(nullptr) : Json(summary.plan)},
                 {"environment", Json::array()},
                 {"processes", Json::array()},
                 {"notes", summary.notes},
                 {"defects", summary.defects}};
  for (const Environment::Change& change : summary.environment) {
    result["environment"].push_back({{"name", change.name}, {"value", change.value}});
  }
  for (const ProcessSummary& entry : summary.processes) result["processes"].push_back(process(entry));
  return result.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tferry::cli
