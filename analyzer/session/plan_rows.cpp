#include "analyzer/session/plan_rows.hpp"

#include "analyzer/session/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>

namespace tferry::analyzer {
namespace {

std::string now_iso8601() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value + 0.5); }

/// The operation before which an action's bytes begin to come back: not before their place is free, which may
/// be later than the plan itself would have it.
std::uint32_t returns_before(const PlacedPlan& placed, const PlanAction& action, std::uint32_t count) {
  std::uint32_t soonest = action.needed_by - action.return_from;
  for (const PlacementStep& step : placed.placement.returns) {
    if (step.tensor == action.tensor)
      soonest = std::min(soonest, (step.position + count - action.return_from % count) % count);
  }
  return (action.return_from + soonest) % count;
}

}  // namespace

std::int64_t iteration_signature(const RankAnalysis& rank) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const IterationSpan& span = rank.iterations->spans[rank.typical->regular.front()];
  for (std::size_t at = span.begin; at < span.end; ++at) {
    hash = (hash ^ rank.source.sources[at].identity) * 0x100000001b3ULL;
  }
  return static_cast<std::int64_t>(hash);
}

std::string plan_digest(const trace::PlanRow& row, const Plan& plan, const Workload& workload) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "tferry.plan\nbudget {}\nchunk {}\nmovable {}\nchunks {}\nslack {:.6f}\n",
                 row.budget_bytes, row.chunk_bytes.value_or(0), row.movable_bytes.value_or(0),
                 row.chunk_count.value_or(0), row.slack.value_or(0));
  fmt::format_to(out, "operations {}\niteration {}\npredicted {}\n", row.operations,
                 row.iteration_signature.value_or(0), row.predicted_ns.value_or(0));
  // Sessions of schema version 5 and older know the GPU's own link only.
  if (row.route && *row.route != trace::route_name(trace::CopyRoute::Way::kDirect))
    fmt::format_to(out, "route {}\n", *row.route);
  for (const PlanAction& action : plan.actions) {
    fmt::format_to(out, "{} | {} {} {} {}{}\n", workload.tensors[action.tensor].name, action.bytes,
                   action.leave_after, action.return_from, action.needed_by, action.returns ? "" : " freed");
  }
  return sha256(text);
}

std::string planner_name(const Plan& plan) { return plan.planner.empty() ? "lookahead" : plan.planner; }

trace::PlanRow plan_row(const RankAnalysis& rank, const PlacedPlan& placed) {
  trace::PlanRow row;
  row.name = row.planner = planner_name(placed.plan);
  row.process_id = rank.source.process_id;
  row.device_id = rank.source.device_id;
  row.budget_bytes = rank.budget_bytes;
  row.footprint_bytes = rank.typical->footprint_bytes;
  row.iteration_signature = iteration_signature(rank);
  row.operations = static_cast<std::int64_t>(placed.workload.workload.operations.size());
  // Without the operations' own times a simulation knows the movement alone.
  const bool timed = 2 * rank.typical->untimed_operations < row.operations;
  if (timed) row.predicted_ns = whole(placed.plan.predicted_ns);
  if (timed && rank.bound) {
    row.bound_ns = whole(rank.bound->time_ns);
    row.in_memory_ns = whole(rank.bound->compute_ns);
  }
  if (rank.bound) row.forced_bytes = rank.bound->forced_in + rank.bound->forced_out;
  row.bytes_in = placed.placement.bytes_in;
  row.bytes_out = placed.placement.bytes_out;
  row.created = now_iso8601();
  row.chunk_bytes = static_cast<std::int64_t>(placed.rules.chunk);
  row.movable_bytes = static_cast<std::int64_t>(placed.rules.movable);
  row.chunk_count = placed.split.plan();
  row.slack = placed.slack;
  const LinkRates& link = rank.typical->workload.link;
  row.link_h2d_bytes_per_second = link.in * 1e9;
  row.link_d2h_bytes_per_second = link.out * 1e9;
  row.duplex_h2d_bytes_per_second = link.duplex_in * 1e9;
  row.duplex_d2h_bytes_per_second = link.duplex_out * 1e9;
  row.route = trace::route_name(rank.route);
  if (!rank.link_known_by.empty()) row.link_known_by = rank.link_known_by;
  row.link_reached = link.reached;
  row.link_copy_ns = link.copy_ns;
  row.sha256 = plan_digest(row, placed.plan, placed.workload.workload);
  return row;
}

std::int64_t insert_plan(trace::SessionWriter& writer, const trace::PlanRow& row, const RankAnalysis& rank,
                         const PlacedPlan& placed, std::span<const std::int64_t> tensor_ids) {
  const std::int64_t id = writer.insert(row);
  const Workload& workload = placed.workload.workload;
  const auto count = static_cast<std::uint32_t>(workload.operations.size());
  std::int64_t number = 0;
  for (const PlanAction& action : placed.plan.actions) {
    trace::PlanActionRow step;
    step.plan_id = id;
    step.number = number++;
    step.kind = trace::TransferKind::kPark;
    if (!tensor_ids.empty()) step.tensor_id = tensor_ids[rank.typical->tensor[action.tensor]];
    step.tensor = workload.tensors[action.tensor].name;
    step.offset = workload.tensors[action.tensor].size - action.bytes;
    step.bytes = action.bytes;
    step.after_position = action.leave_after;
    step.before_position = action.return_from % count;
    writer.insert(step);
    if (!action.returns) continue;
    step.number = number++;
    step.kind = trace::TransferKind::kFetch;
    step.after_position = (returns_before(placed, action, count) + count - 1) % count;
    step.before_position = action.needed_by % count;
    writer.insert(step);
  }
  return id;
}

}  // namespace tferry::analyzer
