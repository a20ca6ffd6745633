#pragma once

#include "gui/session/lane.hpp"
#include "gui/time/time_map.hpp"

#include <memory>
#include <vector>

namespace tferry::gui {

/// What all lanes show in a range: made by the worker, painted by the window, never changed.
struct Picture {
  TimeRange range;
  double ns_per_pixel = 0;
  std::int64_t memory_peak_ns = 0;                   ///< of the first memory lane; 0: unknown
  std::vector<std::shared_ptr<const Slice>> slices;  ///< one for each lane of the overview
};

using PicturePtr = std::shared_ptr<const Picture>;

}  // namespace tferry::gui
