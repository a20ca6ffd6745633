#include "collector/marker_table.hpp"

#include <algorithm>

namespace tferry::collector {

std::optional<trace::MarkerRecord> MarkerTable::add(const CUpti_ActivityMarker2& marker, TimeBase time,
                                                    trace::StringId name, trace::StringId domain) {
  trace::MarkerRecord record;
  record.time_ns = record.end_ns = time.convert(marker.timestamp);
  record.name = name;
  record.domain = domain;
  record.id = marker.id;
  if (marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) record.thread = marker.objectId.pt.threadId;
  if (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) {
    record.kind = trace::MarkerKind::kInstant;
    return record;
  }
  const bool is_start = (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0;
  if (!is_start && (marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) == 0) return std::nullopt;

  const auto other = halves_.find(marker.id);
  if (other == halves_.end() || other->second.is_start == is_start) {
    if (other != halves_.end()) {
      ++lost_;  // an id used again while its range is open
      other->second = {record, is_start};
    } else if (halves_.size() >= limit_) {
      ++lost_;
    } else {
      halves_.emplace(marker.id, Half{record, is_start});
    }
    return std::nullopt;
  }
  trace::MarkerRecord whole = is_start ? record : other->second.record;
  whole.end_ns = is_start ? other->second.record.time_ns : record.time_ns;
  whole.kind = trace::MarkerKind::kRange;
  halves_.erase(other);
  return whole;
}

std::vector<trace::MarkerRecord> MarkerTable::take_open() {
  std::vector<trace::MarkerRecord> open;
  for (auto& [unused, half] : halves_) {
    if (!half.is_start) {
      ++lost_;
      continue;
    }
    half.record.kind = trace::MarkerKind::kOpenRange;
    half.record.end_ns = 0;
    open.push_back(half.record);
  }
  halves_.clear();
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  return open;
}

}  // namespace tferry::collector
