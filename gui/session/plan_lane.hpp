#pragma once

#include "gui/session/overview.hpp"
#include "gui/session/search.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tferry::gui {

/// One movement of a plan in one iteration of the recording.
struct PlannedMove {
  std::int64_t iteration_id = 0, action_id = 0;
  trace::TransferKind kind = trace::TransferKind::kUnknown;
  std::int64_t tensor_id = 0;
  std::string tensor;  ///< empty: known by its number only
  std::int64_t offset = 0, bytes = 0;
  std::int64_t after_position = 0, before_position = 0;  ///< operations of the iteration
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t needed_ns = 0;  ///< the operation that needs it began then; 0: unknown, or it leaves

  /// As the id of an event: the same movement of another iteration is another event.
  std::int64_t id() const { return iteration_id << 32 | action_id; }
  /// After the operation that needs it would have begun.
  std::int64_t late_ns() const { return needed_ns > 0 && end_ns > needed_ns ? end_ns - needed_ns : 0; }
};

inline bool comes_in(trace::TransferKind kind) {
  return kind == trace::TransferKind::kFetch || kind == trace::TransferKind::kInPlace;
}

/// When a plan wants its movements in the iterations of a recording.
///
/// A plan says after which operation a movement may begin and by which it has to be done, not when. Its time
/// here: each direction one after the other, what may begin first and of that what is needed first, as soon
/// as the operation before it has ended, at the rate that the plan was made for. Simulated times are taken
/// where the session has them. Movements of iterations that are not regular are left out: no plan holds
/// there. Threads: the session's.
class PlanTimes {
 public:
  /// Throws trace::SessionError.
  PlanTimes(trace::Session& session, std::int64_t plan_id);

  std::size_t actions() const { return actions_.size(); }
  /// In their turn. Computed when first asked for; valid until the next call.
  const std::vector<PlannedMove>& of(std::int64_t iteration_id);
  /// By the id of an event.
  std::optional<PlannedMove> find(std::int64_t id);
  /// Of one allocation's tensor and one direction, in the iteration around a time: the nearest.
  std::optional<PlannedMove> nearest(std::int64_t allocation_id, trace::TransferKind kind,
                                     std::int64_t offset, std::int64_t time);

 private:
  std::vector<PlannedMove> times(std::int64_t iteration_id);

  trace::Session& session_;
  trace::PlanRow plan_;
  std::vector<trace::PlanActionRow> actions_;  ///< in their turn
  std::map<std::int64_t, std::vector<PlannedMove>> known_;
};

/// What the runtime did of it: the id of the movement (table `swap`) that is nearest in time; 0: nothing.
std::int64_t actual_move(trace::Session& session, const PlannedMove& planned);

/// The plan of a lane's process and GPU that the timeline shows; 0: none.
std::int64_t shown_plan(const Overview& overview, std::int64_t process_id, std::int64_t device_id);

/// As search.hpp's functions, for lanes of planned movements.
FoundEvent found_planned(trace::Session& session, const Overview& overview, std::int64_t id);
FoundEvent next_planned(trace::Session& session, const Lane& lane, int index, std::int64_t time, int step);

}  // namespace tferry::gui
