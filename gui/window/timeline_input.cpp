#include "gui/paint/lane_painter.hpp"
#include "gui/time/time_text.hpp"
#include "gui/window/timeline_view.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

// Keys and mouse of the timeline.

namespace tferry::gui {
namespace {

constexpr double kZoomStep = 1.35;
constexpr double kMoveStep = 0.15;  // of the width
constexpr int kDragStart = 4;       // pixels
constexpr int kLimitReach = 4;      // pixels from the line of the budget that still mean it

}  // namespace

double TimelineView::pointer_x() const {
  const QPoint point = viewport()->mapFromGlobal(QCursor::pos());
  const bool inside = viewport()->rect().contains(point) && point.x() >= kTitleWidth && underMouse();
  return inside ? point.x() - kTitleWidth : scene_.time.width() / 2;
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->modifiers() == Qt::NoModifier && key->key() >= Qt::Key_A && key->key() <= Qt::Key_Z)
      event->accept();
  }
  return QAbstractScrollArea::event(event);
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return Q_EMIT copy_wanted();
  if (!scene_.overview || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)))
    return QAbstractScrollArea::keyPressEvent(event);
  const double width = scene_.time.width();
  switch (event->key()) {
    case Qt::Key_W:
      return set_time(scene_.time.zoomed(1 / kZoomStep, pointer_x()));
    case Qt::Key_S:
      return set_time(scene_.time.zoomed(kZoomStep, pointer_x()));
    case Qt::Key_A:
    case Qt::Key_Left:
      return set_time(scene_.time.moved(-kMoveStep * width));
    case Qt::Key_D:
    case Qt::Key_Right:
      return set_time(scene_.time.moved(kMoveStep * width));
    case Qt::Key_Home:
      return set_time(TimeMap(scene_.overview->range, width));
    case Qt::Key_P:
      return show_memory_peak();
    case Qt::Key_F:
      if (scene_.measured && scene_.measured->length() > 1)
        return set_time(scene_.time.framing(*scene_.measured));
      if (scene_.focus) return set_time(scene_.time.framing(*scene_.focus));
      return;
    case Qt::Key_BracketLeft:
    case Qt::Key_BracketRight: {
      const int step = event->key() == Qt::Key_BracketRight ? 1 : -1;
      const std::int64_t time =
          scene_.focus ? scene_.focus->from_ns : (visible().from_ns + visible().to_ns) / 2;
      Q_EMIT step_wanted(scene_.selected_lane, selected_name_, time, step);
      return;
    }
    case Qt::Key_J:
    case Qt::Key_K:
      Q_EMIT relation_wanted(event->key() == Qt::Key_J);
      return;
    case Qt::Key_Up:
      return choose_lane(-1);
    case Qt::Key_Down:
      return choose_lane(1);
    case Qt::Key_PageUp:
      return verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepSub);
    case Qt::Key_PageDown:
      return verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepAdd);
    case Qt::Key_Space:
      return (event->modifiers() & Qt::ShiftModifier) != 0 ? fold_all() : fold_selected();
    case Qt::Key_M:
      return measure_by_key();
    case Qt::Key_X:
      if (const QString tensor = selected_tensor(); !tensor.isEmpty()) Q_EMIT explanation_wanted(tensor);
      return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (scene_.selected_group >= 0) return fold_selected();
      if (scene_.selected_lane >= 0) {
        const std::int64_t middle = (visible().from_ns + visible().to_ns) / 2;
        Q_EMIT step_wanted(scene_.selected_lane, 0, middle, 1);
      }
      return;
    case Qt::Key_Escape:
      scene_.selected = {};
      scene_.relations.clear();
      scene_.focus.reset();
      scene_.measured.reset();
      scene_.selected_group = -1;
      mark_.reset();
      selected_name_ = 0;
      viewport()->update();
      Q_EMIT measured({});
      Q_EMIT selected({});
      return;
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void TimelineView::choose_lane(int step) {
  const std::vector<TimelineLayout::Strip>& strips = scene_.layout.strips();
  if (strips.empty()) return;
  const auto place = std::find_if(strips.begin(), strips.end(), [this](const TimelineLayout::Strip& strip) {
    return strip.lane >= 0 ? strip.lane == scene_.selected_lane && scene_.selected_group < 0
                           : strip.group == scene_.selected_group;
  });
  const auto last = static_cast<std::ptrdiff_t>(strips.size()) - 1;
  const std::ptrdiff_t index = place == strips.end()
                                   ? (step > 0 ? std::min<std::ptrdiff_t>(1, last) : last)
                                   : std::clamp<std::ptrdiff_t>(place - strips.begin() + step, 0, last);
  const TimelineLayout::Strip& strip = strips[static_cast<std::size_t>(index)];
  if (strip.lane >= 0) return show_lane(strip.lane);
  scene_.selected_lane = -1;
  scene_.selected_group = strip.group;
  bring_into_view(strip);
  setAccessibleDescription(scene_.overview->groups[static_cast<std::size_t>(strip.group)].title);
  viewport()->update();
}

void TimelineView::fold_selected() {
  int group = scene_.selected_group;
  if (const TimelineLayout::Strip* strip = scene_.layout.of_lane(scene_.selected_lane); group < 0 && strip)
    group = strip->group;
  if (group < 0) return;
  scene_.selected_group = group;  // the lane may be gone
  scene_.selected_lane = -1;
  fold(group);
}

/// Everything but what is across GPUs, which stays to look at; or all of it back, as it was at first.
void TimelineView::fold_all() {
  const int groups = static_cast<int>(scene_.overview->groups.size());
  std::set<int> all;
  for (int group = 0; group < groups; ++group) {
    const LaneGroup& what = scene_.overview->groups[static_cast<std::size_t>(group)];
    const bool across =
        !what.lanes.empty() &&
        scene_.overview->lanes[static_cast<std::size_t>(what.lanes.front())].kind == LaneKind::kContention;
    if (!across) all.insert(group);
  }
  const bool folded = std::includes(scene_.folded.begin(), scene_.folded.end(), all.begin(), all.end());
  scene_.folded = folded ? folded_at_first(*scene_.overview) : all;
  update_layout();
  want_picture();
}

/// The first time it remembers a moment, the second time it measures from there: the selected event, else the
/// middle.
void TimelineView::measure_by_key() {
  const std::int64_t middle = (visible().from_ns + visible().to_ns) / 2;
  if (!mark_) {
    mark_ = scene_.focus ? *scene_.focus : TimeRange{middle, middle + 1};
    scene_.measured = TimeRange{mark_->from_ns, mark_->from_ns + 1};
  } else {
    const TimeRange to = scene_.focus ? *scene_.focus : TimeRange{middle, middle + 1};
    scene_.measured = TimeRange{std::min(mark_->from_ns, to.from_ns), std::max(mark_->to_ns, to.to_ns)};
    mark_.reset();
  }
  viewport()->update();
  Q_EMIT measured(*scene_.measured);
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (!scene_.overview) return;
  const QPoint delta = event->angleDelta();
  const double x = event->position().x() - kTitleWidth;
  if (event->modifiers() & Qt::ShiftModifier) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() -
                                  (delta.y() != 0 ? delta.y() : delta.x()) / 2);
  } else if (std::abs(delta.x()) > std::abs(delta.y())) {
    set_time(scene_.time.moved(-delta.x()));
  } else if (x < 0) {
    verticalScrollBar()->setValue(verticalScrollBar()->value() - delta.y() / 2);
  } else {
    set_time(scene_.time.zoomed(std::pow(kZoomStep, -delta.y() / 120.0), x));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  press_ = event->pos();
  dragging_ = false;
  panning_ = event->button() == Qt::MiddleButton ||
             (event->button() == Qt::LeftButton && (event->modifiers() & Qt::ShiftModifier));
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!scene_.overview || event->buttons() == Qt::NoButton) return;
  if (panning_) {
    set_time(scene_.time.moved(press_.x() - event->pos().x()));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + press_.y() - event->pos().y());
    press_ = event->pos();
    return;
  }
  if (!dragging_ && (press_.x() < kTitleWidth || std::abs(event->pos().x() - press_.x()) < kDragStart))
    return;
  dragging_ = true;
  const std::int64_t a = scene_.time.time_at(press_.x() - kTitleWidth);
  const std::int64_t b = scene_.time.time_at(event->pos().x() - kTitleWidth);
  scene_.measured = TimeRange{std::min(a, b), std::max(a, b)};
  viewport()->update();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (!scene_.overview) return;
  if (dragging_ && scene_.measured) {
    Q_EMIT measured(*scene_.measured);
  } else if (!panning_ && event->button() == Qt::LeftButton) {
    click(event->pos());
  }
  dragging_ = panning_ = false;
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent*) {
  if (scene_.focus) set_time(scene_.time.framing(*scene_.focus));
}

void TimelineView::click(const QPoint& point) {
  const Hit hit = hit_test(scene_, point.x(), point.y());
  if (hit.group >= 0 && hit.lane < 0) return fold(hit.group);
  if (hit.lane < 0) return;
  scene_.selected_lane = hit.lane;
  scene_.selected_group = -1;
  viewport()->update();
  if (is_on_budget(hit.lane, point.y())) return Q_EMIT budget_clicked();
  pick(hit);
}

bool TimelineView::is_on_budget(int lane, int y) const {
  const Lane& what = scene_.overview->lanes[static_cast<std::size_t>(lane)];
  const auto index = static_cast<std::size_t>(lane);
  const TimelineLayout::Strip* strip = scene_.layout.of_lane(lane);
  if (what.kind != LaneKind::kMemory || what.limit <= 0 || !strip || !scene_.picture ||
      index >= scene_.picture->slices.size())
    return false;
  const double share = what.limit / memory_scale(what, *scene_.picture->slices[index]);
  const double line = kAxisHeight + strip->y - scene_.scroll + (1 - share) * (strip->height - 1);
  return std::abs(y - line) <= kLimitReach;
}

void TimelineView::pick(const Hit& hit) {
  if (!hit.item) return;
  selected_name_ = hit.item->name_id;
  const auto reach = static_cast<qint64>(scene_.time.ns_per_pixel() * 3) + 1;
  if (hit.item->id == 0) {
    Q_EMIT summary_clicked(hit.lane, hit.time, reach, hit.row);
    return;
  }
  select(
      {{hit.item->table, hit.item->id}, hit.lane, {hit.item->start_ns, hit.item->end_ns}, hit.item->name_id});
}

QString TimelineView::brief_tooltip(const Hit& hit) const {
  const Lane& lane = scene_.overview->lanes[static_cast<std::size_t>(hit.lane)];
  if (hit.on_title) return lane.title + (lane.hint.isEmpty() ? QString() : QStringLiteral("\n") + lane.hint);
  if (hit.item && hit.item->count > 1) {
    const QString name = hit.item->name_id == 0
                             ? QString()
                             : QStringLiteral("\nmostly ") + scene_.names->brief(hit.item->name_id);
    return QStringLiteral("%1 events in %2, %3 % of the time busy%4\nzoom in to tell them apart")
        .arg(hit.item->count)
        .arg(duration_text(hit.item->end_ns - hit.item->start_ns))
        .arg(static_cast<int>(std::lround(hit.item->busy * 100)))
        .arg(name);
  }
  if (!hit.sample) return {};
  if (lane.kind == LaneKind::kMemory) {
    return QStringLiteral("%1 allocated\n%2 of it dead\n%3 of it parked")
        .arg(bytes_text(hit.sample->mean), bytes_text(hit.sample->part), bytes_text(hit.sample->beyond));
  }
  QString text = rate_text(hit.sample->mean) + QStringLiteral(" (at most ") + rate_text(hit.sample->high) +
                 QLatin1Char(')');
  if (lane.capacity > 0)
    text += QStringLiteral("\n%1 % of %2")
                .arg(std::lround(hit.sample->mean / lane.capacity * 100))
                .arg(rate_text(lane.capacity));
  if (lane.owner != 0)
    text += QStringLiteral("\nexplained by recorded copies: ") + rate_text(hit.sample->part);
  return text;
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !scene_.overview) return QAbstractScrollArea::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Hit hit = hit_test(scene_, help->pos().x(), help->pos().y());
  tooltip_for_ = {};
  if (hit.lane < 0) {
    QToolTip::hideText();
  } else if (!hit.on_title && hit.item && hit.item->id != 0) {
    tooltip_for_ = {hit.item->table, hit.item->id};
    tooltip_at_ = help->globalPos();
    Q_EMIT facts_wanted(tooltip_for_);
  } else {
    QToolTip::showText(help->globalPos(), brief_tooltip(hit), viewport());
  }
  return true;
}

}  // namespace tferry::gui
