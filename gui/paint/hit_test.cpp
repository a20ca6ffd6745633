#include "gui/paint/scene.hpp"

#include <algorithm>
#include <cmath>

namespace tferry::gui {
namespace {

constexpr double kReach = 3;  // pixels beside a narrow event that still mean it

const Item* item_at(const Scene& scene, const Slice& slice, int row, std::int64_t time) {
  const double within = kReach * scene.time.ns_per_pixel();
  const Item* best = nullptr;
  double best_distance = within;
  for (const Item& item : slice.items) {
    if (static_cast<double>(item.start_ns - time) > within) break;
    if (item.row != row) continue;
    const auto distance =
        static_cast<double>(std::max<std::int64_t>({0, item.start_ns - time, time - item.end_ns}));
    if (distance > best_distance) continue;
    best = &item;
    best_distance = distance;
  }
  return best;
}

}  // namespace

Hit hit_test(const Scene& scene, int x, int y) {
  Hit hit;
  hit.on_title = x < kTitleWidth;
  hit.time = scene.time.time_at(x - kTitleWidth);
  if (y < kAxisHeight) return hit;
  const int content_y = y - kAxisHeight + scene.scroll;
  const auto head = scene.layout.head_at(scene.scroll);
  const bool on_head = head && content_y >= head->y && content_y < head->y + head->height;
  const TimelineLayout::Strip* strip = on_head ? &*head : scene.layout.at(content_y);
  if (!strip) return hit;
  hit.group = strip->group;
  hit.lane = strip->lane;
  if (hit.lane < 0 || hit.on_title || !scene.picture) return hit;
  const auto lane = static_cast<std::size_t>(hit.lane);
  hit.row = std::min((content_y - strip->y) / row_height(scene.overview->lanes[lane]),
                     scene.overview->lanes[lane].rows - 1);
  if (lane >= scene.picture->slices.size()) return hit;
  const Slice& slice = *scene.picture->slices[lane];
  hit.item = item_at(scene, slice, hit.row, hit.time);
  for (const Sample& sample : slice.samples) {
    if (sample.start_ns > hit.time) break;
    if (hit.time < sample.end_ns) hit.sample = &sample;
  }
  return hit;
}

}  // namespace tferry::gui
