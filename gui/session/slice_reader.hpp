#pragma once

#include "gui/session/gpu_time.hpp"
#include "gui/session/memory_curve.hpp"
#include "gui/session/overview.hpp"
#include "gui/session/picture.hpp"
#include "gui/session/plan_lane.hpp"
#include "trace/session.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

namespace tferry::gui {

/// Reads what the lanes show in a range, at the resolution that is asked for: single events where they can be
/// told apart, else summaries, from the session's level-of-detail tables where it has them. Range queries
/// only; nothing grows with the session. Threads: the session's.
class SliceReader {
 public:
  SliceReader(trace::Session& session, OverviewPtr overview);

  /// Empty when `cancelled`, asked now and then, said so on the way. Of the lanes of tensors, of which there
  /// may be thousands, only `tensors` are read. Throws trace::SessionError.
  PicturePtr read(TimeRange range, double ns_per_pixel, const std::function<bool()>& cancelled = {},
                  const std::set<int>& tensors = {});
  /// The event of a lane at a time, or the nearest within `within_ns`. Row: of nested lanes, -1 any.
  EventRef event_at(int lane, std::int64_t time, std::int64_t within_ns, int row = -1);

 private:
  class Reading;

  trace::Session& session_;
  OverviewPtr overview_;
  std::map<int, MemoryCurve> memory_;                     ///< by lane
  std::optional<std::map<GpuTime::Gpu, GpuTime>> times_;  ///< once they were asked for
  std::map<std::int64_t, PlanTimes> plans_;               ///< by plan.id
};

}  // namespace tferry::gui
