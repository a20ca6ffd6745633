#include "gui/paint/timeline_layout.hpp"

#include <algorithm>

namespace tferry::gui {

int row_height(const Lane& lane) {
  switch (lane.kind) {
    case LaneKind::kStream:
      return 30;
    case LaneKind::kMemory:
      return 84;
    case LaneKind::kCounter:
      return lane.owner != 0 ? 48 : 36;
    case LaneKind::kIterations:
    case LaneKind::kContention:
      return 22;
    case LaneKind::kMarkers:
    case LaneKind::kPlan:
    case LaneKind::kMoves:
      return 18;
    case LaneKind::kTensor:
      return 11;
    default:
      return 20;
  }
}

std::set<int> folded_at_first(const Overview& overview) {
  std::set<int> folded;
  for (std::size_t group = 0; group < overview.groups.size(); ++group) {
    if (overview.groups[group].folded) folded.insert(static_cast<int>(group));
  }
  return folded;
}

int lane_height(const Lane& lane) { return row_height(lane) * lane.rows + kLaneGap; }

TimelineLayout::TimelineLayout(const Overview& overview, const std::set<int>& folded,
                               const QString& tensors) {
  for (int group = 0; group < static_cast<int>(overview.groups.size()); ++group) {
    strips_.push_back({group, -1, height_, kGroupHeight});
    height_ += kGroupHeight + kLaneGap;
    if (folded.contains(group)) continue;
    for (const int lane : overview.groups[static_cast<std::size_t>(group)].lanes) {
      const Lane& what = overview.lanes[static_cast<std::size_t>(lane)];
      if (!tensors.isEmpty() && what.kind == LaneKind::kTensor &&
          !what.title.contains(tensors, Qt::CaseInsensitive) &&
          !what.name.contains(tensors, Qt::CaseInsensitive))
        continue;
      const int height = lane_height(what);
      strips_.push_back({group, lane, height_, height - kLaneGap});
      height_ += height;
    }
    height_ += kLaneGap;
  }
}

const TimelineLayout::Strip* TimelineLayout::at(int y) const {
  for (const Strip& strip : strips_) {
    if (strip.y <= y && y < strip.y + strip.height) return &strip;
  }
  return nullptr;
}

std::set<int> TimelineLayout::tensors_between(const Overview& overview, int from_y, int to_y) const {
  std::set<int> lanes;
  for (const Strip& strip : strips_) {
    if (strip.lane < 0 || strip.y + strip.height < from_y || strip.y > to_y) continue;
    if (overview.lanes[static_cast<std::size_t>(strip.lane)].kind == LaneKind::kTensor)
      lanes.insert(strip.lane);
  }
  return lanes;
}

std::optional<TimelineLayout::Strip> TimelineLayout::head_at(int scroll) const {
  std::optional<Strip> head;
  int end = 0;  // of the group
  for (const Strip& strip : strips_) {
    if (strip.lane < 0 && strip.y >= scroll) break;
    if (strip.lane < 0) head = strip;
    end = strip.y + strip.height;
  }
  if (!head || end <= scroll) return std::nullopt;
  head->y = std::min(scroll, end - head->height);
  return head;
}

const TimelineLayout::Strip* TimelineLayout::of_lane(int lane) const {
  for (const Strip& strip : strips_) {
    if (strip.lane == lane) return &strip;
  }
  return nullptr;
}

}  // namespace tferry::gui
