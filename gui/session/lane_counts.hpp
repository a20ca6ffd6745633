#pragma once

#include "gui/session/lane.hpp"
#include "trace/session.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tferry::gui {

/// How many events a lane has, and when: what it takes to know that the lane is there.
struct LaneCount {
  EventTable table = EventTable::kKernel;
  std::int64_t process_id = 0, device_id = 0, key = 0, owner = 0;
  std::int64_t count = 0, first_ns = 0, last_ns = 0, longest_ns = 0;
  std::int64_t detail_lane = 0;  ///< detail_lane.id, 0: its events have no summaries
  int finest = 0, coarsest = 0;  ///< levels of these
};

/// All lanes of recorded and derived tables; of the level-of-detail tables where the session has them, else
/// counted from the events, which takes a second per two million of them. Throws trace::SessionError.
/// `step` is told the share that is done.
std::vector<LaneCount> count_lanes(trace::Session& session, const std::function<void(double)>& step = {});

/// Runs a select and calls `visit(statement)` for each row. Throws trace::SessionError.
template <typename Visit, typename... Parameters>
void select(trace::Session& session, const std::string& sql, Visit&& visit, const Parameters&... parameters) {
  try {
    trace::Statement statement(session.database(), sql);
    int number = 0;
    (statement.bind(++number, parameters), ...);
    while (statement.step()) visit(statement);
  } catch (const trace::SqliteError& error) {
    throw trace::session_error(session.path(), error);
  }
}

}  // namespace tferry::gui
