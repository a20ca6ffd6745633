#pragma once

#include "gui/paint/theme.hpp"
#include "gui/paint/timeline_layout.hpp"
#include "gui/session/overview.hpp"
#include "gui/session/picture.hpp"
#include "gui/session/relations.hpp"
#include "gui/time/time_map.hpp"

#include <QSize>

#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

namespace tferry::gui {

/// Everything that one frame of the timeline is painted from.
struct Scene {
  OverviewPtr overview;
  std::shared_ptr<const NameBook> names;
  PicturePtr picture;  ///< may be of another range while the worker reads; what there is of it is painted
  TimeMap time{{0, 1}, 1};
  TimelineLayout layout;
  Theme theme = Theme::light();
  int scroll = 0;           ///< pixels of the content above the window
  std::set<int> folded;     ///< groups of which only the head is there
  int selected_group = -1;  ///< whose head is selected
  EventRef selected;
  int selected_lane = -1;
  std::optional<TimeRange> measured;          ///< what was dragged over
  std::optional<TimeRange> focus;             ///< of the selected event
  std::vector<Relation> relations;            ///< of the selected event, drawn as arrows
  std::unordered_set<std::int64_t> matching;  ///< name ids of a search; empty: none
};

/// What is under a point of the timeline.
struct Hit {
  int group = -1;
  int lane = -1;
  int row = 0;
  bool on_title = false;
  std::int64_t time = 0;
  const Item* item = nullptr;  ///< of the scene's picture
  const Sample* sample = nullptr;
};

/// `point` in pixels of the window.
Hit hit_test(const Scene& scene, int x, int y);

}  // namespace tferry::gui
