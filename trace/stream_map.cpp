#include "trace/stream_map.hpp"

#include <algorithm>

namespace tferry::trace {
namespace {

constexpr std::uint64_t kLastDefaultHandle = 2;  // NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD

}  // namespace

StreamMap::Key StreamMap::key(std::uint64_t handle, std::int32_t device) {
  return {handle, handle <= kLastDefaultHandle ? device : -1};
}

StreamMap::StreamMap(std::span<const StreamRecord> records) {
  for (const StreamRecord& record : records) {
    if (record.context_id == 0 && record.stream_id == 0)
      continue;  // a hook's record: it knows the handle only
    spans_[key(record.handle, record.device)].push_back(
        {record.time_ns, {record.context_id, record.stream_id}});
  }
  for (auto& [unused, spans] : spans_) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.from_ns < b.from_ns; });
  }
}

std::optional<ActivityStream> StreamMap::find(std::uint64_t handle, std::int32_t device,
                                              std::int64_t time_ns) const {
  const auto place = spans_.find(key(handle, device));
  if (place == spans_.end()) return std::nullopt;
  const std::vector<Span>& spans = place->second;
  auto after = std::upper_bound(spans.begin(), spans.end(), time_ns,
                                [](std::int64_t time, const Span& span) { return time < span.from_ns; });
  // A stream may be recorded a little after its first use: the first record holds for what came before, too.
  if (after != spans.begin()) --after;
  return after->stream;
}

void StreamMap::assume(std::uint64_t handle, std::int32_t device, ActivityStream stream) {
  spans_[key(handle, device)] = {{0, stream}};
}

}  // namespace tferry::trace
