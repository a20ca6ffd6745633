#include "gui/session/search.hpp"

#include "gui/session/contention_lanes.hpp"
#include "gui/session/lane_counts.hpp"
#include "gui/session/plan_lane.hpp"
#include "gui/session/tensor_lanes.hpp"

#include <QRegularExpression>

#include <algorithm>
#include <string>

namespace tferry::gui {
namespace {

struct Place {
  EventTable table;
  LaneKind kind;
  const char* name;
  const char* id;
  const char* start;
  const char* end;
  const char* keys;  ///< process, device, key, owner of the lane
  const char* name_id = "0";
};

const Place kPlaces[] = {
    {EventTable::kKernel, LaneKind::kStream, "kernel", "id", "start_ns", "coalesce(end_ns, start_ns)",
     "process_id, device_id, stream_id, 0", "name_id"},
    {EventTable::kMemset, LaneKind::kStream, "memset", "id", "start_ns", "coalesce(end_ns, start_ns)",
     "process_id, device_id, stream_id, 0"},
    {EventTable::kMemcpy, LaneKind::kCopies, "memcpy", "id", "start_ns", "coalesce(end_ns, start_ns)",
     "process_id, device_id, kind, owner"},
    {EventTable::kMarker, LaneKind::kMarkers, "marker", "id", "start_ns", "coalesce(end_ns, start_ns)",
     "process_id, 0, thread, 0", "name_id"},
    {EventTable::kSync, LaneKind::kSyncs, "sync", "rowid", "start_ns", "coalesce(end_ns, start_ns)",
     "process_id, 0, 0, 0"},
    {EventTable::kGate, LaneKind::kGates, "gate", "rowid", "start_ns", "end_ns",
     "process_id, device_id, 0, 0"},
    {EventTable::kSwap, LaneKind::kMoves, "swap", "id",
     "coalesce((SELECT start_ns FROM memcpy WHERE memcpy.id = memcpy_id), submit_ns)",
     "coalesce((SELECT end_ns FROM memcpy WHERE memcpy.id = memcpy_id), submit_ns + 1)",
     "process_id, device_id, 0, 0"},
    {EventTable::kUmEvent, LaneKind::kMigrations, "um_event", "rowid", "start_ns",
     "coalesce(end_ns, start_ns)", "process_id, coalesce(destination_device_id, source_device_id), 0, 0"},
    {EventTable::kIteration, LaneKind::kIterations, "iteration", "id", "start_ns", "end_ns",
     "process_id, 0, 0, 0"},
    {EventTable::kContention, LaneKind::kContention, "contention", "id", "start_ns", "end_ns",
     kContentionLane},
};

bool is_told_by_owner(LaneKind kind) { return kind == LaneKind::kCopies || kind == LaneKind::kContention; }

int lane_of(const Overview& overview, const Place& place, const trace::Statement& row) {
  for (int i = 0; i < static_cast<int>(overview.lanes.size()); ++i) {
    const Lane& lane = overview.lanes[static_cast<std::size_t>(i)];
    if (lane.kind == place.kind && lane.process_id == row.integer(3) && lane.device_id == row.integer(4) &&
        lane.key == row.integer(5) && (!is_told_by_owner(lane.kind) || lane.owner == row.integer(6)))
      return i;
  }
  return -1;
}

std::string columns(const Place& place) {
  return std::string("SELECT ") + place.id + ", " + place.start + ", " + place.end + ", " + place.keys +
         ", " + place.name_id + " FROM \"" + place.name + "\" ";
}

/// SQL that keeps to the rows of a lane.
std::string lane_condition(const Lane& lane) {
  const auto is = [](const char* column, std::int64_t value) {
    return std::string(" AND ") + column + (value == 0 ? " IS NULL" : " = " + std::to_string(value));
  };
  std::string sql;
  if (lane.process_id != 0) sql += " AND process_id = " + std::to_string(lane.process_id);
  if (lane.kind == LaneKind::kStream) sql += is("device_id", lane.device_id) + is("stream_id", lane.key);
  if (lane.kind == LaneKind::kMoves || lane.kind == LaneKind::kGates) sql += is("device_id", lane.device_id);
  if (lane.kind == LaneKind::kMarkers) sql += is("thread", lane.key);
  if (lane.kind == LaneKind::kCopies)
    sql += is("device_id", lane.device_id) + " AND kind = " + std::to_string(lane.key) +
           " AND owner = " + std::to_string(lane.owner);
  if (lane.kind == LaneKind::kContention)
    sql += std::string(" AND ") + kLostWhileRunning + " AND (" + kContentionLane + ") = (0, 0, " +
           std::to_string(lane.key) + ", " + std::to_string(lane.owner) + ")";
  return sql;
}

/// Keeps the nearer of both.
void take_nearer(FoundEvent& best, const FoundEvent& other, int step) {
  if (other.event.id == 0) return;
  const bool nearer =
      step > 0 ? other.range.from_ns < best.range.from_ns : other.range.from_ns > best.range.from_ns;
  if (best.event.id == 0 || nearer) best = other;
}

FoundEvent first_of(trace::Session& session, const Overview& overview, const Place& place,
                    const std::string& where, std::int64_t time, int step) {
  FoundEvent found;
  const std::string start = place.start;
  select(
      session,
      columns(place) + "WHERE " + start + (step > 0 ? " > ?" : " < ?") + where + " ORDER BY " + start +
          (step > 0 ? "" : " DESC") + (place.table == EventTable::kContention ? ", id" : "") + " LIMIT 1",
      [&](trace::Statement& row) {
        found = {{place.table, row.integer(0)},
                 lane_of(overview, place, row),
                 {row.integer(1), row.integer(2)},
                 row.integer(7)};
      },
      time);
  return found;
}

}  // namespace

SearchResult search_names(const NameBook& names, const QString& pattern) {
  SearchResult result;
  result.pattern = pattern;
  const QRegularExpression expression(pattern, QRegularExpression::CaseInsensitiveOption);
  if (!expression.isValid()) {
    result.error = expression.errorString();
    return result;
  }
  for (const auto& [id, raw] : names.raw()) {
    if (expression.match(names.full(id)).hasMatch()) result.names.push_back(id);
  }
  std::sort(result.names.begin(), result.names.end());
  return result;
}

FoundEvent next_named(trace::Session& session, const Overview& overview,
                      const std::vector<std::int64_t>& names, int lane, std::int64_t time, int step) {
  const std::string in_lane =
      lane < 0 ? std::string() : lane_condition(overview.lanes[static_cast<std::size_t>(lane)]);
  const bool indexed = session.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'kernel_name'") > 0;
  FoundEvent best;
  for (const Place& place : kPlaces) {
    if (place.table != EventTable::kKernel && place.table != EventTable::kMarker) continue;
    if (lane >= 0 && overview.lanes[static_cast<std::size_t>(lane)].kind != place.kind) continue;
    std::string list;
    for (const std::int64_t name : names) {
      if (indexed && place.table == EventTable::kKernel) {
        take_nearer(best,
                    first_of(session, overview, place, " AND name_id = " + std::to_string(name) + in_lane,
                             time, step),
                    step);
      } else {
        list += (list.empty() ? "" : ",") + std::to_string(name);
      }
    }
    if (list.empty()) continue;
    take_nearer(best,
                first_of(session, overview, place, " AND name_id IN (" + list + ")" + in_lane, time, step),
                step);
  }
  return best;
}

FoundEvent next_in_lane(trace::Session& session, const Overview& overview, int lane, std::int64_t time,
                        int step) {
  FoundEvent best;
  if (lane < 0 || lane >= static_cast<int>(overview.lanes.size())) return best;
  const Lane& in = overview.lanes[static_cast<std::size_t>(lane)];
  if (in.kind == LaneKind::kPlan) return next_planned(session, in, lane, time, step);
  if (in.kind == LaneKind::kTensor) return next_use(session, in, lane, time, step);
  for (const Place& place : kPlaces) {
    if (place.kind == in.kind)
      take_nearer(best, first_of(session, overview, place, lane_condition(in), time, step), step);
  }
  return best;
}

FoundEvent found_event(trace::Session& session, const Overview& overview, EventRef event) {
  if (event.table == EventTable::kPlanAction) return found_planned(session, overview, event.id);
  FoundEvent found;
  for (const Place& place : kPlaces) {
    if (place.table != event.table) continue;
    select(
        session, columns(place) + "WHERE rowid = ?",
        [&](trace::Statement& row) {
          found = {event, lane_of(overview, place, row), {row.integer(1), row.integer(2)}, row.integer(7)};
        },
        event.id);
  }
  return found;
}

}  // namespace tferry::gui
