#pragma once

#include "gui/paint/scene.hpp"

#include <QPainter>
#include <QSize>

namespace tferry::gui {

/// Draws an arrow from the selected event to each of its relations whose lane is laid out: to the kernel that
/// waited for a transfer, from its end; to transfers that slowed it or that a window slowed, from where both
/// ran. A few words stand at the head of the first of a kind. Lines differ by dashes too, not by colour
/// alone.
class ArrowPainter {
 public:
  ArrowPainter(QPainter& painter, const Scene& scene, const QSize& size)
      : painter_(painter), scene_(scene), size_(size) {}

  void draw();

 private:
  QPointF place(std::int64_t time, int lane, bool& laid_out) const;
  void arrow(const Relation& relation, bool labelled);
  void head(const QPointF& tip, const QPointF& from, const QColor& colour);

  QPainter& painter_;
  const Scene& scene_;
  QSize size_;
};

}  // namespace tferry::gui
