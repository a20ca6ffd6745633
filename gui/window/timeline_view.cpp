#include "gui/window/timeline_view.hpp"

#include "gui/paint/timeline_painter.hpp"
#include "gui/time/time_text.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace tferry::gui {
namespace {

constexpr double kZoomStep = 1.35;
constexpr double kMoveStep = 0.15;  // of the width
constexpr double kAround = 0.6;     // of the width, read left and right of what is shown
constexpr int kDragStart = 4;       // pixels
constexpr double kSmallest = 0.02;  // of the width, for a selected event to be seen well

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
  folded_ = folded_at_first(*scene_.overview);
  scene_.time = TimeMap(scene_.overview->range, lanes_width(viewport()->width()));
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
  scene_.layout = TimelineLayout(*scene_.overview, folded_);
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
  const bool covered = wanted_.from_ns <= range.from_ns && range.to_ns <= wanted_.to_ns;
  const bool sharp = resolution <= wanted_resolution_ * 1.5 && resolution >= wanted_resolution_ / 1.5;
  if (covered && sharp) return;
  wanted_ = widened(range, kAround);
  wanted_resolution_ = resolution;
  Q_EMIT picture_wanted(wanted_, resolution, folded_);
}

void TimelineView::show_range(TimeRange range) {
  if (scene_.overview) set_time(scene_.time.showing(range));
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
  if (const TimelineLayout::Strip* strip = scene_.layout.of_lane(found.lane)) {
    const int page = viewport()->height() - kAxisHeight;
    if (strip->y < scene_.scroll) verticalScrollBar()->setValue(strip->y);
    if (strip->y + strip->height > scene_.scroll + page)
      verticalScrollBar()->setValue(strip->y + strip->height - page);
  }
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

void TimelineView::show_lane(int lane) {
  scene_.selected_lane = lane;
  selected_name_ = 0;
  if (const TimelineLayout::Strip* strip = scene_.layout.of_lane(lane)) {
    const int page = viewport()->height() - kAxisHeight;
    if (strip->y < scene_.scroll) verticalScrollBar()->setValue(strip->y);
    if (strip->y + strip->height > scene_.scroll + page)
      verticalScrollBar()->setValue(strip->y + strip->height - page);
  }
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
      const bool meant =
          numbered ? lane.key == number : lane.title.startsWith(name_or_number + QStringLiteral("   "));
      if (lane.kind != LaneKind::kTensor || !meant) continue;
      if (folded_.erase(group) > 0) {
        wanted_ = {};  // what was folded has not been read
        update_layout();
        want_picture();
      }
      show_lane(index);
      return true;
    }
  }
  return false;
}

void TimelineView::set_session_again(OverviewPtr overview, std::shared_ptr<const NameBook> names) {
  const TimeRange before = visible();
  const std::int64_t end = scene_.overview ? scene_.overview->range.to_ns : 0;
  const bool everything = scene_.overview && before.length() >= scene_.overview->range.length();
  const bool at_end = before.contains(end);
  const int scroll = scene_.scroll;
  set_session(std::move(overview), std::move(names));
  verticalScrollBar()->setValue(scroll);
  if (!everything) {
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
  viewport()->update();
}

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
    case Qt::Key_Return:
    case Qt::Key_Enter:
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
  std::vector<int> lanes;
  for (const TimelineLayout::Strip& strip : scene_.layout.strips()) {
    if (strip.lane >= 0) lanes.push_back(strip.lane);
  }
  if (lanes.empty()) return;
  const auto place = std::find(lanes.begin(), lanes.end(), scene_.selected_lane);
  const auto last = static_cast<std::ptrdiff_t>(lanes.size()) - 1;
  const std::ptrdiff_t index = place == lanes.end()
                                   ? (step > 0 ? 0 : last)
                                   : std::clamp<std::ptrdiff_t>(place - lanes.begin() + step, 0, last);
  show_lane(lanes[static_cast<std::size_t>(index)]);
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
  if (hit.group >= 0 && hit.lane < 0) {
    if (!folded_.erase(hit.group)) folded_.insert(hit.group);
    wanted_ = {};  // what was folded has not been read
    want_picture();
    return update_layout();
  }
  if (hit.lane < 0) return;
  scene_.selected_lane = hit.lane;
  viewport()->update();
  pick(hit);
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
