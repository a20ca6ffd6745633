#include "cli/plan/open_plan.hpp"

#include "cli/byte_size.hpp"
#include "cli/failure.hpp"
#include "cli/report/route_text.hpp"

#include <fmt/format.h>

namespace tferry::cli {
namespace {

std::string milliseconds(std::optional<std::int64_t> nanoseconds) {
  return nanoseconds ? fmt::format("{:.1f} ms", static_cast<double>(*nanoseconds) / 1e6) : "unknown";
}

}  // namespace

analyzer::StoredPlan open_plan(const PlanReference& reference) {
  trace::Session session = trace::Session::open(reference.session.string());
  try {
    return analyzer::load_plan(session, reference.plan);
  } catch (const analyzer::PlanError& error) {
    throw Failure(error.what(), error.remedy());
  }
}

std::string plan_name(const PlanReference& reference, const analyzer::StoredPlan& stored) {
  return fmt::format("{}, plan {} ({})", reference.session.filename().string(), stored.row.id,
                     stored.row.planner);
}

std::string planned_link(const analyzer::StoredPlan& stored) {
  const trace::PlanRow& row = stored.row;
  if (row.route.value_or("direct") == "direct") return "";
  return fmt::format("{}, {:.1f} GB/s in and {:.1f} GB/s out, {}", route_text(row.route),
                     row.link_h2d_bytes_per_second.value_or(0) / 1e9,
                     row.link_d2h_bytes_per_second.value_or(0) / 1e9, row.link_known_by.value_or("unknown"));
}

std::string describe(const analyzer::StoredPlan& stored) {
  const trace::PlanRow& row = stored.row;
  std::string text = fmt::format(
      "{} moves, {} out and {} in an iteration; predicted {}, bound {}, in memory {}; budget {}, {} chunks "
      "of {} "
      "for "
      "its tensors",
      stored.placed.plan.actions.size(), format_bytes(stored.placed.placement.bytes_out),
      format_bytes(stored.placed.placement.bytes_in), milliseconds(row.predicted_ns),
      milliseconds(row.bound_ns), milliseconds(row.in_memory_ns), format_bytes(row.budget_bytes),
      stored.placed.split.plan(), format_bytes(static_cast<std::int64_t>(stored.placed.rules.chunk)));
  if (const std::string link = planned_link(stored); !link.empty()) text += "; contents go " + link;
  if (stored.placed.slack > 0) text += fmt::format(", {:.1f}% of them not needed", 100 * stored.placed.slack);
  return text;
}

}  // namespace tferry::cli
