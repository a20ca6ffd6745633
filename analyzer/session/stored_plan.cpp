#include "analyzer/session/stored_plan.hpp"

#include "analyzer/planner/plan_json.hpp"
#include "analyzer/session/plan_rows.hpp"
#include "analyzer/session/read_recording.hpp"
#include "analyzer/workload/validate.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace tferry::analyzer {
namespace {

using trace::PlanActionRow;
using trace::PlanRow;

constexpr const char* kAnalyzeAgain = "make a new one: tferry analyze --budget SIZE SESSION";

PlanRow find_row(trace::Session& session, std::optional<std::int64_t> id) {
  const std::optional<PlanRow> row =
      id ? session.first<PlanRow>("WHERE id = ?", *id) : session.first<PlanRow>("ORDER BY id DESC LIMIT 1");
  if (!row) {
    throw PlanError(
        id ? fmt::format("{} has no plan {}", session.path(), *id) : session.path() + " has no plan",
        id ? "tferry plan show lists those it has" : kAnalyzeAgain);
  }
  if (!row->chunk_bytes || !row->movable_bytes || !row->chunk_count || *row->chunk_bytes <= 0 ||
      *row->movable_bytes <= 0) {
    throw PlanError(fmt::format("plan {} of {} does not say which chunks it is for: an older tferry made it",
                                row->id, session.path()),
                    kAnalyzeAgain);
  }
  return *row;
}

LinkRates rates_of(const PlanRow& row) {
  const LinkRates usual;
  LinkRates rates{row.link_h2d_bytes_per_second.value_or(usual.in * 1e9) * 1e-9,
                  row.link_d2h_bytes_per_second.value_or(usual.out * 1e9) * 1e-9,
                  row.duplex_h2d_bytes_per_second.value_or(usual.duplex_in * 1e9) * 1e-9,
                  row.duplex_d2h_bytes_per_second.value_or(usual.duplex_out * 1e9) * 1e-9};
  rates.reached = row.link_reached.value_or(usual.reached);
  rates.copy_ns = row.link_copy_ns.value_or(usual.copy_ns);
  return rates;
}

trace::CopyRoute::Way route_of(const PlanRow& row) {
  return row.route ? trace::route_named(*row.route).value_or(trace::CopyRoute::Way::kDirect)
                   : trace::CopyRoute::Way::kDirect;
}

/// What the plan was made from, counted as it was then.
RankAnalysis read_rank(trace::Session& session, const PlanRow& row, const trace::MemoryRules& rules) {
  const auto stale = [&](const std::string& why) {
    return PlanError(fmt::format("plan {} of {} is stale: {}", row.id, session.path(), why), kAnalyzeAgain);
  };
  for (SessionRecording& recording : read_recordings(session)) {
    if (recording.process_id != row.process_id || recording.device_id != row.device_id.value_or(0)) continue;
    RankAnalysis rank;
    rank.source = std::move(recording);
    rank.budget_bytes = row.budget_bytes;
    rank.route = route_of(row);
    rank.link_known_by = row.link_known_by.value_or("unknown");
    if (!find_typical(rank, rules)) throw stale("its recording shows no iterations");
    const auto count = static_cast<std::int64_t>(rank.typical->workload.operations.size());
    if (count != row.operations) {
      throw stale(fmt::format("it is for iterations of {} operations, the recording's have {}",
                              row.operations, count));
    }
    if (row.iteration_signature && *row.iteration_signature != iteration_signature(rank))
      throw stale("the recording's iterations have other operations than it was made for");
    rank.typical->workload.link = rates_of(row);
    rank.typical->workload.budget = row.budget_bytes - rank.typical->resident_bytes;
    try {
      validate(rank.typical->workload);
    } catch (const WorkloadError& error) {
      throw stale(error.what());
    }
    rank.bound = lower_bound(rank.typical->workload);
    return rank;
  }
  throw stale("what it was made from is not in the session any more");
}

/// From one operation to the next time that the other comes around, at least one.
std::uint32_t operations_between(std::int64_t from, std::int64_t to, std::int64_t count) {
  return static_cast<std::uint32_t>((to - from - 1 + 2 * count) % count + 1);
}

Plan read_actions(trace::Session& session, const PlanRow& row, const Workload& workload) {
  std::unordered_map<std::string, std::uint32_t> tensors;
  for (std::uint32_t t = 0; t < workload.tensors.size(); ++t) tensors.emplace(workload.tensors[t].name, t);
  Plan plan;
  plan.planner = row.planner;
  plan.predicted_ns = static_cast<double>(row.predicted_ns.value_or(0));
  const auto damaged = [&](std::int64_t number, const char* why) {
    return PlanError(
        fmt::format("plan {} of {} is damaged: action {} {}", row.id, session.path(), number, why),
        kAnalyzeAgain);
  };
  bool parked = false;
  // A park that no fetch follows is the last thing that happens to its tensor.
  const auto freed_while_away = [&](std::int64_t number) {
    PlanAction& action = plan.actions.back();
    if (!workload.tensors[action.tensor].kept) throw damaged(number, "has no counterpart");
    action.needed_by = action.return_from;
    action.returns = false;
  };
  for (const auto& step : session.rows<PlanActionRow>("WHERE plan_id = ? ORDER BY number", row.id)) {
    const auto tensor = tensors.find(step.tensor.value_or(""));
    if (tensor == tensors.end())
      throw damaged(step.number, "names a tensor that the recording does not have");
    if (step.after_position < 0 || step.after_position >= row.operations || step.before_position < 0 ||
        step.before_position >= row.operations)
      throw damaged(step.number, "has positions beyond the iteration");
    if (step.kind == trace::TransferKind::kPark) {
      if (parked) freed_while_away(step.number);
      const auto after = static_cast<std::uint32_t>(step.after_position);
      plan.actions.push_back({tensor->second, step.bytes, after,
                              after + operations_between(after, step.before_position, row.operations), 0});
    } else if (step.kind == trace::TransferKind::kFetch && parked &&
               plan.actions.back().tensor == tensor->second) {
      PlanAction& action = plan.actions.back();
      action.needed_by =
          action.leave_after + operations_between(action.leave_after, step.before_position, row.operations);
    } else {
      throw damaged(step.number, "has no counterpart");
    }
    parked = step.kind == trace::TransferKind::kPark;
  }
  if (parked) freed_while_away(static_cast<std::int64_t>(plan.actions.size()));
  return plan;
}

std::uint32_t ordinal_of(trace::Session& session, const PlanRow& row) {
  const auto known = session.first<trace::ProcessDeviceRow>("WHERE process_id = ? AND device_id = ?",
                                                            row.process_id, row.device_id.value_or(0));
  return known ? static_cast<std::uint32_t>(known->ordinal) : 0;
}

}  // namespace

StoredPlan load_plan(trace::Session& session, std::optional<std::int64_t> id) {
  StoredPlan stored;
  stored.row = find_row(session, id);
  const PlanRow& row = stored.row;
  stored.ordinal = ordinal_of(session, row);
  const trace::MemoryRules rules{static_cast<std::uint64_t>(*row.chunk_bytes),
                                 static_cast<std::uint64_t>(*row.movable_bytes)};
  stored.rank = read_rank(session, row, rules);
  const auto unfit = [&](const std::string& why) {
    return PlanError(fmt::format("plan {} of {} cannot be followed: {}", row.id, session.path(), why),
                     kAnalyzeAgain);
  };
  PlanBasis found = plan_basis(stored.rank.source.recording, *stored.rank.typical, rules, row.budget_bytes,
                               row.slack.value_or(0));
  if (!found.basis) throw unfit(found.reason);
  stored.placed = *std::move(found.basis);
  const Workload& workload = stored.placed.workload.workload;
  Plan plan = read_actions(session, row, workload);
  if (row.sha256 && *row.sha256 != plan_digest(row, plan, workload)) {
    throw PlanError(fmt::format("plan {} of {} is damaged: it is not what it was when it was stored", row.id,
                                session.path()),
                    kAnalyzeAgain);
  }
  if (const auto errors = plan_errors(workload, plan); !errors.empty()) throw unfit(errors.front());
  if (!place(stored.placed, std::move(plan), SimulationOptions{}))
    throw unfit(fmt::format("its tensors found no places in {} chunks", stored.placed.split.plan()));
  return stored;
}

std::vector<std::string> replace_plan(StoredPlan& stored, std::string_view json) {
  const Workload& workload = stored.placed.workload.workload;
  PlanText read = read_plan(json, workload);
  if (!read.errors.empty()) return read.errors;
  PlacedPlan placed = stored.placed;
  if (!place(placed, std::move(read.plan), SimulationOptions{}))
    return {fmt::format("plan: its tensors found no places in {} chunks", placed.split.plan())};
  stored.placed = std::move(placed);
  stored.row = plan_row(stored.rank, stored.placed);
  return {};
}

}  // namespace tferry::analyzer
