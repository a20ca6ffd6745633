#pragma once

#include "gui/paint/scene.hpp"

#include <QPainter>
#include <QSize>

#include <algorithm>

namespace tferry::gui {

/// Paints one frame: axis, titles, lanes, selection. Knows no window, so that screenshots and SVG come from
/// the same code.
void paint_timeline(QPainter& painter, const Scene& scene, const QSize& size);

/// A page of its own: headline, warnings, timeline and legend. Used where there is no window.
void paint_page(QPainter& painter, const Scene& scene, const QSize& size);
/// The height of the page's timeline that shows all lanes.
int page_height(const Scene& scene);

/// Width of the timeline's lanes in a page or window of that width.
inline int lanes_width(int width) { return std::max(1, width - kTitleWidth); }

}  // namespace tferry::gui
