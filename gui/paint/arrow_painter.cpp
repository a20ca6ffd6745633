#include "gui/paint/arrow_painter.hpp"

#include "gui/paint/timeline_painter.hpp"

#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace tferry::gui {
namespace {

constexpr double kHead = 7;      // pixels
constexpr double kFarOut = 1e5;  // pixels; painters do not like much more

}  // namespace

QPointF ArrowPainter::place(std::int64_t time, int lane, bool& laid_out) const {
  const TimelineLayout::Strip* strip = scene_.layout.of_lane(lane);
  laid_out = strip != nullptr;
  if (!strip) return {};
  const double y = kAxisHeight + strip->y - scene_.scroll + strip->height / 2.0;
  return {kTitleWidth + std::clamp(scene_.time.x_of(time), -kFarOut, kFarOut), y};
}

void ArrowPainter::draw() {
  if (scene_.relations.empty() || !scene_.focus || scene_.selected_lane < 0) return;
  painter_.save();
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setClipRect(QRect(kTitleWidth, kAxisHeight, lanes_width(size_.width()), size_.height()));
  std::set<Relation::Kind> labelled;
  for (const Relation& relation : scene_.relations) arrow(relation, labelled.insert(relation.kind).second);
  painter_.restore();
}

void ArrowPainter::arrow(const Relation& relation, bool labelled) {
  using Kind = Relation::Kind;
  const bool follows = relation.kind != Kind::kCulprit && relation.kind != Kind::kVictim;
  const bool reversed = relation.kind == Kind::kCause;  // from the cause to what is selected
  const std::int64_t both = std::max(scene_.focus->from_ns, relation.event.range.from_ns) / 2 +
                            std::min(scene_.focus->to_ns, relation.event.range.to_ns) / 2;
  const std::int64_t leaves = relation.kind == Kind::kWaiter ? scene_.focus->to_ns
                              : follows                      ? scene_.focus->from_ns
                                                             : both;
  bool from_there = false, to_there = false;
  QPointF from = place(leaves, scene_.selected_lane, from_there);
  QPointF to = place(follows ? relation.event.range.from_ns : both, relation.event.lane, to_there);
  if (reversed) std::swap(from, to);
  const bool waiter = follows;
  if (!from_there || !to_there) return;
  const QColor colour = waiter ? scene_.theme.text : scene_.theme.wait;
  // Leaves to the right and bends into the other lane, so that arrows straight down can be told from grid
  // lines.
  const double bend = std::max(24.0, std::abs(to.x() - from.x()) / 2);
  const QPointF second(to.x() - (waiter ? bend : -bend), to.y());
  QPainterPath path(from);
  path.cubicTo(QPointF(from.x() + bend, from.y()), second, to);
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen(scene_.theme.background, 4));  // keeps it apart from what lies below
  painter_.drawPath(path);
  painter_.setPen(QPen(colour, 1.6, waiter ? Qt::SolidLine : Qt::DashLine));
  painter_.drawPath(path);
  head(to, second, colour);
  if (!labelled) return;
  const QRectF box(to.x() + (waiter ? 8 : 30), to.y() - 26, 420, 18);
  const double width = painter_.fontMetrics().horizontalAdvance(relation.text) + 8;
  QColor veil = scene_.theme.background;
  veil.setAlphaF(0.85F);
  painter_.fillRect(QRectF(box.left(), box.top(), width, box.height()), veil);
  painter_.setPen(colour);
  painter_.drawText(box.adjusted(4, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, relation.text);
}

void ArrowPainter::head(const QPointF& tip, const QPointF& from, const QColor& colour) {
  const double angle = std::atan2(tip.y() - from.y(), tip.x() - from.x());
  QPolygonF triangle;
  for (const double turn : {0.0, 2.65, -2.65})
    triangle << tip + QPointF(std::cos(angle + turn), std::sin(angle + turn)) * (turn == 0 ? 0 : kHead);
  painter_.setPen(Qt::NoPen);
  painter_.setBrush(colour);
  painter_.drawPolygon(triangle);
}

}  // namespace tferry::gui
