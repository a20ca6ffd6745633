#pragma once

#include "gui/session/overview.hpp"

#include <QRect>

#include <optional>
#include <set>
#include <vector>

namespace tferry::gui {

inline constexpr int kAxisHeight = 30;
inline constexpr int kTitleWidth = 210;
inline constexpr int kGroupHeight = 26;
inline constexpr int kLaneGap = 4;  // below each lane

/// Where the groups and lanes lie, in pixels from the top of the whole content, which may be taller than the
/// window. The axis and the titles at the left are not part of it.
class TimelineLayout {
 public:
  struct Strip {
    int group = 0;
    int lane = -1;  ///< -1: the head of the group
    int y = 0;
    int height = 0;
  };

  TimelineLayout() = default;
  /// Of folded groups only the head is there; of tensors only those whose title has `tensors` in it, any
  /// case.
  TimelineLayout(const Overview& overview, const std::set<int>& folded, const QString& tensors = {});

  const std::vector<Strip>& strips() const { return strips_; }
  int height() const { return height_; }
  /// The strip at `y` of the content; nullptr below the last.
  const Strip* at(int y) const;
  const Strip* of_lane(int lane) const;
  /// The head of the group whose lanes are at `scroll`: it stays there, until the next one pushes it away.
  /// None where it stands in its own place.
  std::optional<Strip> head_at(int scroll) const;
  /// The lanes of tensors between two heights of the content.
  std::set<int> tensors_between(const Overview& overview, int from_y, int to_y) const;

 private:
  std::vector<Strip> strips_;
  int height_ = 0;
};

/// The groups that are folded until someone unfolds them.
std::set<int> folded_at_first(const Overview& overview);

/// Height of a lane, and of each of its rows.
int lane_height(const Lane& lane);
int row_height(const Lane& lane);

}  // namespace tferry::gui
