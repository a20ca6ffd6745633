#include "gui/session/lane_counts.hpp"

#include "gui/session/contention_lanes.hpp"
#include "trace/session_detail.hpp"

#include <algorithm>
#include <iterator>

namespace tferry::gui {
namespace {

struct Source {
  EventTable table;
  const char* keys;  ///< process, device, key, owner
  const char* start;
  const char* end;
  const char* rest;  ///< FROM and WHERE
};

constexpr Source kSources[] = {
    {EventTable::kKernel, "process_id, device_id, stream_id, owner", "start_ns", "coalesce(end_ns, start_ns)",
     "FROM kernel WHERE start_ns IS NOT NULL"},
    {EventTable::kMemset, "process_id, device_id, stream_id, owner", "start_ns", "coalesce(end_ns, start_ns)",
     "FROM memset WHERE start_ns IS NOT NULL"},
    {EventTable::kMemcpy, "process_id, device_id, kind, owner", "start_ns", "coalesce(end_ns, start_ns)",
     "FROM memcpy WHERE start_ns IS NOT NULL"},
    {EventTable::kMarker, "process_id, 0, thread, 0", "start_ns", "coalesce(end_ns, start_ns)",
     "FROM marker WHERE 1"},
    {EventTable::kSync, "process_id, 0, 0, 0", "start_ns", "coalesce(end_ns, start_ns)", "FROM sync WHERE 1"},
    {EventTable::kGate, "process_id, device_id, 0, 0", "start_ns", "end_ns", "FROM gate WHERE 1"},
    {EventTable::kSwap, "swap.process_id, swap.device_id, 0, 0", "submit_ns",
     "coalesce(memcpy.end_ns, submit_ns)", "FROM swap LEFT JOIN memcpy ON memcpy.id = memcpy_id WHERE 1"},
    {EventTable::kUmEvent, "process_id, coalesce(destination_device_id, source_device_id), 0, 0", "start_ns",
     "coalesce(end_ns, start_ns)", "FROM um_event WHERE 1"},
    {EventTable::kCounter, "0, device_id, name_id, 0", "start_ns", "end_ns",
     "FROM counter WHERE device_id IS NOT NULL AND end_ns > start_ns"},
    {EventTable::kAllocation, "process_id, device_id, 0, 0", "alloc_ns", "coalesce(free_ns, alloc_ns)",
     "FROM allocation WHERE device_id IS NOT NULL AND memory_kind IN (0, 3)"},
    {EventTable::kIteration, "process_id, 0, 0, 0", "start_ns", "end_ns", "FROM iteration WHERE 1"},
};

std::string sql_of(const Source& source) {
  const std::string start = source.start, end = source.end;
  return std::string("SELECT ") + source.keys + ", count(*), min(" + start + "), max(" + end + "), max(" +
         end + " - " + start + ") " + source.rest + " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
}

struct Summarised {
  const char* name;
  EventTable table;
};

constexpr Summarised kSummarised[] = {{"kernel", EventTable::kKernel}, {"memset", EventTable::kMemset},
                                      {"memcpy", EventTable::kMemcpy}, {"marker", EventTable::kMarker},
                                      {"sync", EventTable::kSync},     {"counter", EventTable::kCounter}};

bool is_summarised(EventTable table) {
  return std::any_of(std::begin(kSummarised), std::end(kSummarised),
                     [table](const Summarised& source) { return source.table == table; });
}

void read_detail_lanes(trace::Session& session, std::vector<LaneCount>& counts) {
  select(session,
         "SELECT source, process_id, device_id, key, owner, count, first_ns, last_ns, longest_ns, id, "
         "finest, (SELECT max(level) FROM detail "
         "WHERE lane_id = id) FROM "
         "detail_lane ORDER BY id",
         [&](trace::Statement& row) {
           for (const Summarised& source : kSummarised) {
             if (row.text(0) != source.name) continue;
             counts.push_back({source.table, row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                               row.integer(5), row.integer(6), row.integer(7), row.integer(8), row.integer(9),
                               static_cast<int>(std::clamp<std::int64_t>(row.integer(10), 0, 60)),
                               static_cast<int>(std::clamp<std::int64_t>(row.integer(11), 0, 60))});
           }
         });
}

}  // namespace

std::vector<LaneCount> count_lanes(trace::Session& session, const std::function<void(double)>& step) {
  double done = 0;
  std::vector<LaneCount> counts;
  const bool summarised = trace::has_detail(session.database());
  if (summarised) read_detail_lanes(session, counts);
  for (const Source& source : kSources) {
    if (step) step(++done / static_cast<double>(std::size(kSources) + 1));
    if (summarised && is_summarised(source.table)) continue;
    select(session, sql_of(source), [&](trace::Statement& row) {
      counts.push_back({source.table, row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                        row.integer(4), row.integer(5), row.integer(6), row.integer(7), 0, 0, 0});
    });
  }
  const std::string lost = std::string("FROM contention WHERE ") + kLostWhileRunning;
  select(session, sql_of({EventTable::kContention, kContentionLane, "start_ns", "end_ns", lost.c_str()}),
         [&](trace::Statement& row) {
           counts.push_back({EventTable::kContention, 0, 0, row.integer(2), row.integer(3), row.integer(4),
                             row.integer(5), row.integer(6), row.integer(7), 0, 0, 0});
         });
  return counts;
}

}  // namespace tferry::gui
