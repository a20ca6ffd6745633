#include "gui/window/timeline_view.hpp"

#include "gui/paint/timeline_painter.hpp"
#include "gui/time/time_text.hpp"

#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace tferry::gui {
namespace {

constexpr double kAround = 0.6;  // of the width, read left and right of what is shown

TimeRange both(const TimeRange& a, const TimeRange& b) {
  return {std::min(a.from_ns, b.from_ns), std::max(a.to_ns, b.to_ns)};
}

TimeRange widened(const TimeRange& range, double share) {
  const auto more = static_cast<std::int64_t>(static_cast<double>(range.length()) * share);
  return {range.from_ns - more, range.to_ns + more};
}

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(QStringLiteral("Timeline"));
  setAccessibleDescription(QStringLiteral("GPU work on a time axis; press ? for the keys"));
}

void TimelineView::set_session(OverviewPtr overview, std::shared_ptr<const NameBook> names) {
  scene_.overview = std::move(overview);
  scene_.names = std::move(names);
  scene_.picture.reset();
  scene_.selected = {};
  scene_.selected_lane = -1;
  scene_.focus.reset();
  scene_.measured.reset();
  scene_.matching.clear();
  scene_.relations.clear();
  selected_name_ = 0;
  scene_.selected_group = -1;
  mark_.reset();
  scene_.folded = folded_at_first(*scene_.overview);
  scene_.time = TimeMap(scene_.overview->range, lanes_width(viewport()->width()));
  if (!(scene_.overview->shown_first == scene_.overview->range))
    scene_.time = scene_.time.showing(scene_.overview->shown_first);
  wanted_ = {};
  update_layout();
  want_picture();
}

void TimelineView::set_theme(const Theme& theme) {
  scene_.theme = theme;
  viewport()->update();
}

void TimelineView::set_picture(PicturePtr picture) {
  scene_.picture = std::move(picture);
  viewport()->update();
}

void TimelineView::set_matching(std::unordered_set<std::int64_t> names) {
  scene_.matching = std::move(names);
  viewport()->update();
}

void TimelineView::set_relations(EventRef of, std::vector<Relation> relations) {
  if (!(of == scene_.selected)) return;
  scene_.relations = std::move(relations);
  viewport()->update();
}

void TimelineView::update_layout() {
  if (!scene_.overview) return;
  scene_.layout = TimelineLayout(*scene_.overview, scene_.folded, tensor_filter_);
  const int page = std::max(1, viewport()->height() - kAxisHeight);
  verticalScrollBar()->setPageStep(page);
  verticalScrollBar()->setSingleStep(20);
  verticalScrollBar()->setRange(0, std::max(0, scene_.layout.height() - page));
  scene_.scroll = verticalScrollBar()->value();
  viewport()->update();
}

void TimelineView::set_time(const TimeMap& map) {
  scene_.time = map;
  want_picture();
  viewport()->update();
  Q_EMIT view_changed(visible());
}

void TimelineView::want_picture() {
  if (!scene_.overview) return;
  const TimeRange range = visible();
  const double resolution = scene_.time.ns_per_pixel();
  const int page = viewport()->height();
  const auto tensors = [&](int beyond) {
    return scene_.layout.tensors_between(*scene_.overview, scene_.scroll - beyond,
                                         scene_.scroll + page + beyond);
  };
  const std::set<int> in_sight = tensors(0);
  const bool covered =
      wanted_.from_ns <= range.from_ns && range.to_ns <= wanted_.to_ns &&
      std::includes(wanted_tensors_.begin(), wanted_tensors_.end(), in_sight.begin(), in_sight.end());
  const bool sharp = resolution <= wanted_resolution_ * 1.5 && resolution >= wanted_resolution_ / 1.5;
  if (covered && sharp) return;
  wanted_ = widened(range, kAround);
  wanted_resolution_ = resolution;
  wanted_tensors_ = tensors(page);
  Q_EMIT picture_wanted(wanted_, resolution, wanted_tensors_);
}

void TimelineView::show_range(TimeRange range) {
  if (scene_.overview) set_time(scene_.time.showing(range));
}

void TimelineView::show_beside(TimeRange range) {
  if (!scene_.overview) return;
  set_time(TimeMap(both(scene_.overview->range, range), scene_.time.width()).showing(range));
}

void TimelineView::show_around(TimeRange range) { show_range(widened(range, 1)); }

void TimelineView::move_view(double factor, double around, double share) {
  if (!scene_.overview) return;
  const double width = scene_.time.width();
  set_time(scene_.time.zoomed(factor, around * width).moved(share * width));
}

void TimelineView::select(const FoundEvent& found) {
  if (found.event.id == 0 || !scene_.overview) return;
  if (!(scene_.selected == found.event)) scene_.relations.clear();
  scene_.selected = found.event;
  scene_.selected_lane = found.lane;
  selected_name_ = found.name_id;
  scene_.focus = found.range;
  const TimeRange range = visible();
  const double share = static_cast<double>(found.range.length()) /
                       static_cast<double>(std::max<std::int64_t>(1, range.length()));
  const bool inside = range.from_ns <= found.range.from_ns && found.range.to_ns <= range.to_ns;
  if (share > 1) {
    set_time(scene_.time.framing(found.range));
  } else if (!inside) {
    const std::int64_t middle = (found.range.from_ns + found.range.to_ns) / 2;
    set_time(scene_.time.showing({middle - range.length() / 2, middle + range.length() / 2}));
  }
  if (const TimelineLayout::Strip* strip = scene_.layout.of_lane(found.lane)) bring_into_view(*strip);
  viewport()->update();
  Q_EMIT selected(found);
  Q_EMIT facts_wanted(found.event);
}

void TimelineView::show_facts(const EventFacts& facts) {
  if (facts.event != tooltip_for_ || facts.facts.empty()) return;
  QString text = QStringLiteral("<b>%1</b><table>").arg(facts.title.toHtmlEscaped());
  for (const auto& [name, value] : facts.facts)
    text += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(name.toHtmlEscaped(), value.toHtmlEscaped());
  QToolTip::showText(tooltip_at_, text + QStringLiteral("</table>"), viewport());
}

void TimelineView::show_memory_peak() {
  if (!scene_.picture || scene_.picture->memory_peak_ns == 0) return;
  const std::int64_t peak = scene_.picture->memory_peak_ns;
  const std::int64_t half = std::min(visible().length(), scene_.overview->range.length() / 4) / 2;
  scene_.measured = TimeRange{peak, peak + 1};
  set_time(scene_.time.showing({peak - half, peak + half}));
  for (int lane = 0; lane < static_cast<int>(scene_.overview->lanes.size()); ++lane) {
    if (scene_.overview->lanes[static_cast<std::size_t>(lane)].kind != LaneKind::kMemory) continue;
    scene_.selected_lane = lane;
    if (const auto* strip = scene_.layout.of_lane(lane))
      verticalScrollBar()->setValue(strip->y + strip->height);
    break;
  }
  Q_EMIT measured(*scene_.measured);
}

void TimelineView::bring_into_view(const TimelineLayout::Strip& strip) {
  const int page = viewport()->height() - kAxisHeight;
  const int above = strip.lane < 0 ? 0 : kGroupHeight + kLaneGap;  // of its group, which stays at the top
  if (strip.y - above < scene_.scroll) verticalScrollBar()->setValue(strip.y - above);
  if (strip.y + strip.height > scene_.scroll + page)
    verticalScrollBar()->setValue(strip.y + strip.height - page);
}

void TimelineView::show_lane(int lane) {
  scene_.selected_lane = lane;
  scene_.selected_group = -1;
  selected_name_ = 0;
  if (const TimelineLayout::Strip* strip = scene_.layout.of_lane(lane)) bring_into_view(*strip);
  setAccessibleDescription(scene_.overview->lanes[static_cast<std::size_t>(lane)].title);
  viewport()->update();
}

bool TimelineView::show_tensor(const QString& name_or_number) {
  if (!scene_.overview) return false;
  bool numbered = false;
  const qlonglong number = name_or_number.toLongLong(&numbered);
  const Overview& overview = *scene_.overview;
  for (int group = 0; group < static_cast<int>(overview.groups.size()); ++group) {
    for (const int index : overview.groups[static_cast<std::size_t>(group)].lanes) {
      const Lane& lane = overview.lanes[static_cast<std::size_t>(index)];
      const bool meant = numbered ? lane.key == number
                                  : lane.name == name_or_number ||
                                        lane.title.startsWith(name_or_number + QStringLiteral("   "));
      if (lane.kind != LaneKind::kTensor || !meant) continue;
      if (!scene_.layout.of_lane(index)) {
        scene_.folded.erase(group);
        tensor_filter_.clear();
        Q_EMIT tensor_filter_changed(tensor_filter_);
        update_layout();
      }
      show_lane(index);
      want_picture();
      return true;
    }
  }
  return false;
}

void TimelineView::set_tensor_filter(const QString& text) {
  if (text == tensor_filter_) return;
  tensor_filter_ = text;
  if (!scene_.overview) return;
  for (int group = 0; group < static_cast<int>(scene_.overview->groups.size()) && !text.isEmpty(); ++group) {
    if (scene_.overview->groups[static_cast<std::size_t>(group)].folded) scene_.folded.erase(group);
  }
  update_layout();
  if (!text.isEmpty()) {
    for (const TimelineLayout::Strip& strip : scene_.layout.strips()) {
      if (strip.lane < 0 ||
          scene_.overview->lanes[static_cast<std::size_t>(strip.lane)].kind != LaneKind::kTensor)
        continue;
      show_lane(strip.lane);  // the largest that is left
      break;
    }
  }
  want_picture();
}

QString TimelineView::selected_tensor() const {
  if (!scene_.overview || scene_.selected_lane < 0) return {};
  const Lane& lane = scene_.overview->lanes[static_cast<std::size_t>(scene_.selected_lane)];
  if (lane.kind != LaneKind::kTensor) return {};
  return lane.name.isEmpty() ? QString::number(lane.key) : lane.name;
}

void TimelineView::fold(int group) {
  if (!scene_.folded.erase(group)) scene_.folded.insert(group);
  update_layout();
  want_picture();
}

void TimelineView::set_session_again(OverviewPtr overview, std::shared_ptr<const NameBook> names) {
  const TimeRange before = visible();
  const std::int64_t end = scene_.overview ? scene_.overview->range.to_ns : 0;
  const bool everything = scene_.overview && before.length() >= scene_.overview->range.length();
  const bool at_end = before.contains(end);
  const int scroll = scene_.scroll;
  set_session(std::move(overview), std::move(names));
  verticalScrollBar()->setValue(scroll);
  if (everything) {
    set_time(TimeMap(scene_.overview->range, scene_.time.width()));
  } else {
    const std::int64_t later = at_end ? std::max<std::int64_t>(0, scene_.overview->range.to_ns - end) : 0;
    show_range({before.from_ns + later, before.to_ns + later});
  }
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (!scene_.overview) {
    painter.fillRect(viewport()->rect(), scene_.theme.background);
    painter.setPen(scene_.theme.muted);
    painter.drawText(viewport()->rect(), Qt::AlignCenter,
                     QStringLiteral("Drop a .tferry session here, or press Ctrl+O"));
    return;
  }
  paint_timeline(painter, scene_, viewport()->size());
  if (hasFocus()) {
    painter.setPen(scene_.theme.muted);
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  scene_.time = scene_.time.with_width(lanes_width(viewport()->width()));
  update_layout();
  want_picture();
}

void TimelineView::scrollContentsBy(int, int) {
  scene_.scroll = verticalScrollBar()->value();
  if (scene_.overview) want_picture();  // lanes of tensors that were out of sight
  viewport()->update();
}

}  // namespace tferry::gui
