#include "gui/session/gpu_time.hpp"

#include "gui/session/lane_counts.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace tferry::gui {
namespace {

constexpr std::int64_t kMostKernels = 400'000;  // read in a few tenths of a second

}  // namespace

GpuTime::GpuTime(trace::Session& session, std::int64_t process_id, std::int64_t device_id) {
  if (session.integer("SELECT coalesce(max(id), 0) FROM kernel") > kMostKernels) return;
  std::int64_t stream = 0;
  select(
      session,
      "SELECT stream_id FROM kernel WHERE process_id = ? AND device_id = ? AND owner <> 2 AND call_ns IS NOT "
      "NULL AND end_ns IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
      [&](trace::Statement& row) { stream = row.integer(0); }, process_id, device_id);
  select(
      session,
      "SELECT call_ns, start_ns, end_ns FROM kernel WHERE process_id = ? AND stream_id = ? AND call_ns IS "
      "NOT NULL AND "
      "end_ns IS NOT NULL ORDER BY call_ns",
      [&](trace::Statement& row) {
        const std::int64_t before = operations_.empty() ? 0 : operations_.back().done_ns;
        operations_.push_back(
            {row.integer(0), std::max(before, row.integer(1)), std::max(before, row.integer(2))});
      },
      process_id, stream);
}

std::int64_t GpuTime::of(std::int64_t host_ns) const {
  const auto after = std::lower_bound(operations_.begin(), operations_.end(), host_ns,
                                      [](const Operation& o, std::int64_t time) { return o.call_ns < time; });
  return after == operations_.begin() ? host_ns : std::max(host_ns, std::prev(after)->done_ns);
}

std::int64_t GpuTime::needed(std::int64_t host_ns) const {
  const auto next = std::lower_bound(operations_.begin(), operations_.end(), host_ns,
                                     [](const Operation& o, std::int64_t time) { return o.call_ns < time; });
  const std::int64_t done = of(host_ns);
  return next != operations_.end() && next->call_ns <= done ? std::max(done, next->start_ns) : done;
}

std::int64_t GpuTime::called_after(std::int64_t gpu_ns) const {
  const auto after = std::upper_bound(operations_.begin(), operations_.end(), gpu_ns,
                                      [](std::int64_t time, const Operation& o) { return time < o.done_ns; });
  return after == operations_.end() ? gpu_ns : std::min(gpu_ns, after->call_ns);
}

}  // namespace tferry::gui
