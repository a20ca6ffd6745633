#include "gui/session/plan_lane.hpp"

#include "gui/session/lane_counts.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace tferry::gui {
namespace {

constexpr int kMostIterations = 3;      // looked through for the next movement of a lane
constexpr std::size_t kMostKept = 400;  // iterations whose times are remembered

/// When an iteration's operations ran, by position; those of the next follow.
struct Operations {
  std::vector<std::pair<std::int64_t, std::int64_t>> ran;  ///< start, end; 0: unknown
  std::int64_t count = 0;                                  ///< of one iteration

  std::int64_t start(std::int64_t position) const { return at(position).first; }
  std::int64_t end(std::int64_t position) const { return at(position).second; }

 private:
  std::pair<std::int64_t, std::int64_t> at(std::int64_t position) const {
    const auto index = static_cast<std::size_t>(position);
    return position >= 0 && index < ran.size() ? ran[index] : std::pair<std::int64_t, std::int64_t>{0, 0};
  }
};

Operations operations_of(trace::Session& session, const trace::IterationRow& iteration) {
  constexpr std::int64_t kMost = 4'000'000;
  Operations operations;
  operations.count =
      std::clamp<std::int64_t>(iteration.last_operation - iteration.first_operation + 1, 0, kMost);
  operations.ran.resize(static_cast<std::size_t>(2 * operations.count));
  select(
      session,
      "SELECT operation, start_ns, end_ns FROM operation WHERE process_id = ? AND operation >= ? AND "
      "operation < ?",
      [&](trace::Statement& row) {
        if (row.is_null(1) || row.is_null(2)) return;
        operations.ran[static_cast<std::size_t>(row.integer(0) - iteration.first_operation)] = {
            row.integer(1), row.integer(2)};
      },
      iteration.process_id, iteration.first_operation, iteration.first_operation + 2 * operations.count);
  return operations;
}

/// SQL: the movement has that direction.
const char* same_way(trace::TransferKind kind) {
  return comes_in(kind) ? "swap.kind IN (2, 5)" : "swap.kind IN (1, 3, 4)";
}

}  // namespace

PlanTimes::PlanTimes(trace::Session& session, std::int64_t plan_id) : session_(session) {
  if (const auto plan = session.first<trace::PlanRow>("WHERE id = ?", plan_id)) plan_ = *plan;
  for (const auto& action :
       session.rows<trace::PlanActionRow>("WHERE plan_id = ? ORDER BY number, id", plan_id))
    actions_.push_back(action);
  // Rows of a plan go by tensor; what may begin first, and of that what is needed first, moves first.
  const auto turn = [](const trace::PlanActionRow& action) {
    return std::tuple(action.after_position, action.before_position < action.after_position,
                      action.before_position);
  };
  std::stable_sort(actions_.begin(), actions_.end(),
                   [&](const auto& a, const auto& b) { return turn(a) < turn(b); });
}

const std::vector<PlannedMove>& PlanTimes::of(std::int64_t iteration_id) {
  if (known_.size() > kMostKept) known_.clear();
  const auto [place, is_new] = known_.try_emplace(iteration_id);
  if (is_new) place->second = times(iteration_id);
  return place->second;
}

std::vector<PlannedMove> PlanTimes::times(std::int64_t iteration_id) {
  const auto iteration = session_.first<trace::IterationRow>("WHERE id = ? AND regular = 1", iteration_id);
  if (!iteration) return {};
  const Operations operations = operations_of(session_, *iteration);
  std::array<std::int64_t, 2> free_from = {iteration->start_ns, iteration->start_ns};  // out, in
  std::vector<PlannedMove> moves;
  for (const trace::PlanActionRow& action : actions_) {
    PlannedMove move;
    move.iteration_id = iteration_id;
    move.action_id = action.id;
    move.kind = action.kind;
    move.tensor_id = action.tensor_id;
    move.tensor = action.tensor.value_or("");
    move.offset = action.offset;
    move.bytes = action.bytes;
    move.after_position = action.after_position;
    move.before_position = action.before_position;
    const bool next = action.before_position < action.after_position;
    // Of what leaves it is when there is room for it again: nothing waits for that.
    if (comes_in(action.kind))
      move.needed_ns = operations.start(action.before_position + (next ? operations.count : 0));
    if (action.planned_start_ns && action.planned_end_ns) {
      move.start_ns = iteration->start_ns + static_cast<std::int64_t>(*action.planned_start_ns);
      move.end_ns = iteration->start_ns + static_cast<std::int64_t>(*action.planned_end_ns);
    } else {
      const bool in = comes_in(action.kind);
      const auto rate = in ? plan_.link_h2d_bytes_per_second : plan_.link_d2h_bytes_per_second;
      const bool moves_bytes =
          action.kind == trace::TransferKind::kPark || action.kind == trace::TransferKind::kFetch;
      const std::int64_t ready = operations.end(action.after_position);
      if (ready == 0) continue;  // when that operation ran is not known
      move.start_ns = moves_bytes ? std::max(ready, free_from[in ? 1 : 0]) : ready;
      const double takes =
          moves_bytes && rate.value_or(0) > 0 ? static_cast<double>(action.bytes) / *rate * 1e9 : 0;
      move.end_ns = move.start_ns + static_cast<std::int64_t>(takes);
      if (moves_bytes) free_from[in ? 1 : 0] = move.end_ns;
    }
    moves.push_back(std::move(move));
  }
  return moves;
}

std::optional<PlannedMove> PlanTimes::find(std::int64_t id) {
  for (const PlannedMove& move : of(id >> 32)) {
    if (move.id() == id) return move;
  }
  return std::nullopt;
}

std::optional<PlannedMove> PlanTimes::nearest(std::int64_t allocation_id, trace::TransferKind kind,
                                              std::int64_t offset, std::int64_t time) {
  std::int64_t tensor_id = 0;
  std::string tensor;
  select(
      session_,
      "SELECT tensor.id, coalesce(tensor.name, '') FROM tensor_allocation JOIN tensor ON tensor.id = "
      "tensor_id WHERE allocation_id = ? LIMIT 1",
      [&](trace::Statement& row) {
        tensor_id = row.integer(0);
        tensor = row.shown(1);
      },
      allocation_id);
  if (tensor_id == 0) return std::nullopt;
  std::vector<std::int64_t> iterations;
  select(
      session_,
      "SELECT id FROM iteration WHERE process_id = ? AND start_ns <= ? ORDER BY start_ns DESC LIMIT 2",
      [&](trace::Statement& row) { iterations.push_back(row.integer(0)); }, plan_.process_id, time);
  std::optional<PlannedMove> best;
  const auto distance = [&](const PlannedMove& move) {
    return std::pair(move.offset != offset, std::abs(move.start_ns - time));
  };
  for (const std::int64_t iteration : iterations) {
    for (const PlannedMove& move : of(iteration)) {
      const bool same = move.tensor.empty() ? move.tensor_id == tensor_id : move.tensor == tensor;
      if (!same || comes_in(move.kind) != comes_in(kind)) continue;
      if (!best || distance(move) < distance(*best)) best = move;
    }
  }
  return best;
}

std::int64_t actual_move(trace::Session& session, const PlannedMove& planned) {
  const auto iteration = session.first<trace::IterationRow>("WHERE id = ?", planned.iteration_id);
  if (!iteration) return 0;
  const std::int64_t within = (iteration->end_ns - iteration->start_ns) / 2;
  std::int64_t id = 0;
  select(
      session,
      std::string(
          "SELECT swap.id, coalesce(memcpy.start_ns, submit_ns) AS s FROM swap LEFT JOIN memcpy ON memcpy.id "
          "= memcpy_id WHERE swap.process_id = ?1 AND ") +
          same_way(planned.kind) +
          " AND allocation_id IN (SELECT allocation_id FROM tensor_allocation JOIN tensor ON tensor.id = "
          "tensor_id WHERE CASE WHEN ?2 = '' THEN tensor.id = ?3 ELSE coalesce(tensor.name, '') = ?2 END) "
          "AND "
          "s BETWEEN ?4 AND ?5 ORDER BY swap.\"offset\" <> ?6, abs(s - ?7) LIMIT 1",
      [&](trace::Statement& row) { id = row.integer(0); }, iteration->process_id, planned.tensor,
      planned.tensor_id, planned.start_ns - within, planned.start_ns + within, planned.offset,
      planned.start_ns);
  return id;
}

std::int64_t shown_plan(const Overview& overview, std::int64_t process_id, std::int64_t device_id) {
  for (const Lane& lane : overview.lanes) {
    if (lane.kind == LaneKind::kPlan && lane.process_id == process_id && lane.device_id == device_id)
      return lane.key;
  }
  return 0;
}

FoundEvent found_planned(trace::Session& session, const Overview& overview, std::int64_t id) {
  std::int64_t plan = 0;
  select(
      session, "SELECT plan_id FROM plan_action WHERE id = ?",
      [&](trace::Statement& row) { plan = row.integer(0); }, id & 0xffffffff);
  FoundEvent found;
  const auto move = PlanTimes(session, plan).find(id);
  if (!move) return found;
  found = {
      {EventTable::kPlanAction, id}, -1, {move->start_ns, std::max(move->end_ns, move->start_ns + 1)}, 0};
  for (int i = 0; i < static_cast<int>(overview.lanes.size()); ++i) {
    const Lane& lane = overview.lanes[static_cast<std::size_t>(i)];
    if (lane.kind == LaneKind::kPlan && lane.key == plan) found.lane = i;
  }
  return found;
}

FoundEvent next_planned(trace::Session& session, const Lane& lane, int index, std::int64_t time, int step) {
  // A movement may still be under way when the next iteration has begun.
  std::vector<std::int64_t> iterations;
  const auto add = [&](trace::Statement& row) { iterations.push_back(row.integer(0)); };
  select(session,
         "SELECT id FROM iteration WHERE process_id = ? AND start_ns <= ? ORDER BY start_ns DESC LIMIT ?",
         add, lane.process_id, time, kMostIterations);
  select(session, "SELECT id FROM iteration WHERE process_id = ? AND start_ns > ? ORDER BY start_ns LIMIT ?",
         add, lane.process_id, time, kMostIterations);
  PlanTimes plan(session, lane.key);
  FoundEvent best;
  for (const std::int64_t iteration : iterations) {
    for (const PlannedMove& move : plan.of(iteration)) {
      if (step > 0 ? move.start_ns <= time : move.start_ns >= time) continue;
      const bool nearer = step > 0 ? move.start_ns < best.range.from_ns : move.start_ns > best.range.from_ns;
      if (best.event.id != 0 && !nearer) continue;
      best = {{EventTable::kPlanAction, move.id()},
              index,
              {move.start_ns, std::max(move.end_ns, move.start_ns + 1)},
              0};
    }
  }
  return best;
}

}  // namespace tferry::gui
