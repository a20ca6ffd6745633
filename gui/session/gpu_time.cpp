#include "gui/session/gpu_time.hpp"

#include "gui/session/lane_counts.hpp"

#include <algorithm>
#include <iterator>

namespace tferry::gui {
namespace {

constexpr std::int64_t kMostKernels = 400'000;  // read in a few tenths of a second

}  // namespace

std::map<GpuTime::Gpu, GpuTime> GpuTime::read(trace::Session& session) {
  std::map<Gpu, GpuTime> times;
  if (session.integer("SELECT coalesce(max(id), 0) FROM kernel") > kMostKernels) return times;
  std::map<Gpu, std::map<std::int64_t, std::vector<Operation>>> streams;
  select(
      session,
      "SELECT process_id, device_id, stream_id, call_ns, start_ns, end_ns FROM kernel WHERE owner <> 2 AND "
      "call_ns IS NOT NULL AND end_ns IS NOT NULL",
      [&](trace::Statement& row) {
        streams[{row.integer(0), row.integer(1)}][row.integer(2)].push_back(
            {row.integer(3), row.integer(4), row.integer(5)});
      });
  for (auto& [gpu, of_gpu] : streams) {
    const auto most = std::max_element(of_gpu.begin(), of_gpu.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    times.emplace(gpu, GpuTime(std::move(most->second)));
  }
  return times;
}

GpuTime::GpuTime(std::vector<Operation> operations) : operations_(std::move(operations)) {
  std::sort(operations_.begin(), operations_.end(),
            [](const Operation& a, const Operation& b) { return a.call_ns < b.call_ns; });
  std::int64_t done = 0;
  for (Operation& operation : operations_) {
    operation.start_ns = std::max(done, operation.start_ns);
    operation.done_ns = done = std::max(done, operation.done_ns);
  }
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
