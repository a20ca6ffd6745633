#include "gui/paint/timeline_painter.hpp"

#include "gui/paint/arrow_painter.hpp"
#include "gui/paint/lane_painter.hpp"
#include "gui/paint/text_cache.hpp"
#include "gui/time/time_text.hpp"

#include <QFileInfo>
#include <QFontMetrics>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tferry::gui {
namespace {

constexpr int kPageMargin = 14;
constexpr int kHeadline = 46;
constexpr int kWarning = 22;
constexpr int kLegend = 30;

class Frame {
 public:
  Frame(QPainter& painter, const Scene& scene, const QSize& size)
      : painter_(painter), scene_(scene), size_(size) {}

  void paint() {
    const Ticks ticks = ticks_of(scene_.time, scene_.overview->origin_ns, 110);
    painter_.save();
    painter_.setClipRect(0, kAxisHeight, size_.width(), std::max(0, size_.height() - kAxisHeight));
    backdrops(ticks);
    backgrounds();
    grid(ticks);
    for (std::size_t i = 0; i < scene_.layout.strips().size(); ++i)
      lane(scene_.layout.strips()[i], backdrops_[striped_[i] ? 1 : 0]);
    for (const TimelineLayout::Strip& strip : scene_.layout.strips()) strip_title(strip);
    if (const auto head = scene_.layout.head_at(scene_.scroll)) strip_title(*head);
    painter_.restore();
    axis(ticks);
    overlays();
    ArrowPainter(painter_, scene_, size_).draw();
  }

 private:
  QRect strip_rect(const TimelineLayout::Strip& strip) const {
    return {0, kAxisHeight + strip.y - scene_.scroll, size_.width(), strip.height};
  }
  bool is_visible(const QRect& rect) const {
    return rect.bottom() >= kAxisHeight && rect.top() < size_.height();
  }

  /// What lies below the charts of plain and of striped lanes: background and grid.
  void backdrops(const Ticks& ticks) {
    const auto width = static_cast<std::size_t>(lanes_width(size_.width()));
    backdrops_[0].assign(width, scene_.theme.background.rgb());
    backdrops_[1].assign(width, scene_.theme.stripe.rgb());
    for (const std::int64_t time : ticks.times) {
      const auto x = static_cast<std::size_t>(std::max(0L, std::lround(scene_.time.x_of(time))));
      for (std::vector<QRgb>& row : backdrops_) {
        if (x < width && scene_.time.x_of(time) >= 0) row[x] = scene_.theme.grid.rgb();
      }
    }
    bool striped = false;
    for (const TimelineLayout::Strip& strip : scene_.layout.strips()) {
      striped = strip.lane >= 0 && striped;
      striped_.push_back(striped);
      striped = strip.lane < 0 ? false : !striped;
    }
  }

  /// Its chart covers all of a lane.
  bool is_chart(const TimelineLayout::Strip& strip) const {
    const auto lane = static_cast<std::size_t>(strip.lane);
    if (strip.lane < 0 || !scene_.picture || lane >= scene_.picture->slices.size()) return false;
    const LaneKind kind = scene_.overview->lanes[lane].kind;
    return kind == LaneKind::kCounter ||
           (kind == LaneKind::kMemory && !scene_.picture->slices[lane]->samples.empty());
  }

  /// Each pixel once: filling is bound by memory, and most of what is below charts would never be seen.
  void backgrounds() {
    int y = kAxisHeight;
    const auto fill = [this](int from, int to, const QColor& colour, int width) {
      if (to > from) painter_.fillRect(0, from, width, to - from, colour);
    };
    for (std::size_t i = 0; i < scene_.layout.strips().size(); ++i) {
      const TimelineLayout::Strip& strip = scene_.layout.strips()[i];
      const QRect rect = strip_rect(strip);
      if (!is_visible(rect)) continue;
      const int room = striped_[i] ? 2 : 0;  // above and below, half of the gap between lanes
      const QColor& colour = strip.lane < 0 ? scene_.theme.group
                             : striped_[i]  ? scene_.theme.stripe
                                            : scene_.theme.background;
      fill(y, rect.top() - room, scene_.theme.background, size_.width());
      const bool chart = is_chart(strip);
      fill(rect.top() - room, rect.bottom() + 1 + room, colour, chart ? kTitleWidth : size_.width());
      if (chart && room > 0) {
        painter_.fillRect(kTitleWidth, rect.top() - room, size_.width(), room, colour);
        painter_.fillRect(kTitleWidth, rect.bottom() + 1, size_.width(), room, colour);
      }
      y = rect.bottom() + 1 + room;
    }
    fill(y, size_.height(), scene_.theme.background, size_.width());
  }

  void grid(const Ticks& ticks) {
    // Rectangles of one pixel: Qt's raster engine draws upright lines several times slower.
    painter_.fillRect(kTitleWidth - 1, kAxisHeight, 1, size_.height(), scene_.theme.border);
    for (const std::int64_t time : ticks.times) {
      const int x = kTitleWidth + static_cast<int>(std::lround(scene_.time.x_of(time)));
      if (x >= kTitleWidth) painter_.fillRect(x, kAxisHeight, 1, size_.height(), scene_.theme.grid);
    }
  }

  void lane(const TimelineLayout::Strip& strip, const std::vector<QRgb>& backdrop) {
    const QRect rect = strip_rect(strip);
    if (strip.lane < 0 || !is_visible(rect) || !scene_.picture) return;
    const auto index = static_cast<std::size_t>(strip.lane);
    if (index >= scene_.picture->slices.size()) return;
    const Lane& lane = scene_.overview->lanes[index];
    const Slice& slice = *scene_.picture->slices[index];
    const QRect area(kTitleWidth, rect.top(), std::max(1, size_.width() - kTitleWidth), rect.height());
    painter_.save();
    painter_.setClipRect(area.intersected(QRect(0, kAxisHeight, size_.width(), size_.height())));
    LanePainter lanes(painter_, scene_, &backdrop);
    if (lane.kind == LaneKind::kMemory) {
      lanes.memory(lane, slice, area);
    } else if (lane.kind == LaneKind::kCounter) {
      lanes.curve(lane, slice, area);
    } else {
      lanes.items(lane, strip.lane, slice, area);
    }
    painter_.restore();
  }

  void strip_title(const TimelineLayout::Strip& strip) {
    const QRect rect = strip_rect(strip);
    if (!is_visible(rect)) return;
    QFont font = painter_.font();
    if (strip.lane < 0) {
      const LaneGroup& group = scene_.overview->groups[static_cast<std::size_t>(strip.group)];
      painter_.fillRect(rect, scene_.theme.group);
      font.setBold(true);
      painter_.setFont(font);
      painter_.setPen(scene_.theme.text);
      TextCache::of_this_thread(true).draw(painter_, rect.adjusted(26, 0, -10, 0), group.title);
      fold_mark(rect, scene_.folded.contains(strip.group));
      if (strip.group == scene_.selected_group) {
        painter_.setPen(QPen(scene_.theme.accent, 2));
        painter_.drawRect(rect.adjusted(1, 1, -1, -1));
      }
      font.setBold(false);
      painter_.setFont(font);
      return;
    }
    const Lane& lane = scene_.overview->lanes[static_cast<std::size_t>(strip.lane)];
    painter_.setPen(strip.lane == scene_.selected_lane ? scene_.theme.accent : scene_.theme.text);
    const QRect box(10, rect.top(), kTitleWidth - 18, std::min(rect.height(), row_height(lane)));
    TextCache::of_this_thread().draw(painter_, box, lane.title);
  }

  /// A triangle: to the right where the group is folded, else down.
  void fold_mark(const QRect& rect, bool folded) {
    const QPointF middle(15, rect.top() + rect.height() / 2.0);
    QPolygonF triangle;
    if (folded) {
      triangle << middle + QPointF(-3, -5) << middle + QPointF(4, 0) << middle + QPointF(-3, 5);
    } else {
      triangle << middle + QPointF(-5, -3) << middle + QPointF(5, -3) << middle + QPointF(0, 4);
    }
    painter_.save();
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(scene_.theme.muted);
    painter_.drawPolygon(triangle);
    painter_.restore();
  }

  void axis(const Ticks& ticks) {
    painter_.fillRect(0, 0, size_.width(), kAxisHeight, scene_.theme.axis);
    painter_.setPen(scene_.theme.border);
    painter_.drawLine(0, kAxisHeight - 1, size_.width(), kAxisHeight - 1);
    painter_.drawLine(kTitleWidth - 1, 0, kTitleWidth - 1, kAxisHeight);
    painter_.setPen(scene_.theme.muted);
    const TimeRange visible = scene_.time.visible();
    painter_.drawText(QRect(10, 0, kTitleWidth - 18, kAxisHeight), Qt::AlignVCenter | Qt::AlignLeft,
                      duration_text(visible.length()) + QStringLiteral(" visible"));
    painter_.setClipRect(kTitleWidth, 0, size_.width(), kAxisHeight);
    for (const std::int64_t time : ticks.times) {
      const int x = kTitleWidth + static_cast<int>(std::lround(scene_.time.x_of(time)));
      painter_.setPen(scene_.theme.border);
      painter_.drawLine(x, kAxisHeight - 7, x, kAxisHeight - 2);
      painter_.setPen(scene_.theme.text);
      const QString text = moment_text(time - scene_.overview->origin_ns, static_cast<double>(ticks.step_ns));
      if (x + 4 + TextCache::of_this_thread().width(painter_, text) > size_.width()) continue;
      TextCache::of_this_thread().draw(painter_, QRect(x + 4, 0, 200, kAxisHeight - 4), text);
    }
    painter_.setClipping(false);
  }

  void overlays() {
    if (!scene_.measured && !scene_.focus) return;
    painter_.save();
    painter_.setClipRect(kTitleWidth, 0, size_.width(), size_.height());
    if (scene_.focus) {
      for (const std::int64_t time : {scene_.focus->from_ns, scene_.focus->to_ns}) {
        const int x = kTitleWidth + static_cast<int>(std::lround(scene_.time.x_of(time)));
        painter_.setPen(QPen(scene_.theme.muted, 1, Qt::DotLine));
        painter_.drawLine(x, kAxisHeight, x, size_.height());
      }
    }
    if (scene_.measured) measured(*scene_.measured);
    painter_.restore();
  }

  void measured(const TimeRange& range) {
    const int x0 = kTitleWidth + static_cast<int>(std::lround(scene_.time.x_of(range.from_ns)));
    const int x1 = kTitleWidth + static_cast<int>(std::lround(scene_.time.x_of(range.to_ns)));
    QColor veil = scene_.theme.accent;
    veil.setAlphaF(0.08F);
    painter_.fillRect(QRect(x0, kAxisHeight, std::max(1, x1 - x0), size_.height()), veil);
    painter_.setPen(scene_.theme.accent);
    painter_.drawLine(x0, 0, x0, size_.height());
    painter_.drawLine(x1, 0, x1, size_.height());
    if (range.length() <= 1) return;  // a moment
    const QString text = duration_text(range.length());
    const int width = painter_.fontMetrics().horizontalAdvance(text) + 14;
    const QRect box((x0 + x1 - width) / 2, 4, width, kAxisHeight - 8);
    painter_.fillRect(box, scene_.theme.accent);
    painter_.setPen(scene_.theme.background);
    painter_.drawText(box, Qt::AlignCenter, text);
  }

  QPainter& painter_;
  const Scene& scene_;
  QSize size_;
  std::array<std::vector<QRgb>, 2> backdrops_;
  std::vector<bool> striped_;  ///< by strip
};

void legend(QPainter& painter, const Scene& scene, const QRect& area) {
  struct Entry {
    QColor colour;
    const char* text;
    LaneKind needs;
    std::int64_t key;
  };
  const Theme& theme = scene.theme;
  const Entry entries[] = {{theme.kernels[0], "kernels, coloured by name", LaneKind::kStream, -1},
                           {theme.to_gpu, "host → GPU", LaneKind::kCopies, -1},
                           {theme.to_host, "GPU → host", LaneKind::kCopies, -1},
                           {theme.within, "within the GPU", LaneKind::kCopies, 3},
                           {theme.memory, "memory in use", LaneKind::kMemory, -1},
                           {theme.memory_dead, "dead", LaneKind::kMemory, -1},
                           {theme.memory_parked, "parked", LaneKind::kMoves, -1},
                           {theme.wait, "waits for memory", LaneKind::kGates, -1},
                           {theme.wait, "late: after it was needed", LaneKind::kPlan, -1},
                           {theme.wait, "late: an operation waited", LaneKind::kMoves, -1},
                           {theme.wait, "time lost to other transfers", LaneKind::kContention, -1}};
  int x = area.left();
  for (const Entry& entry : entries) {
    const bool shown =
        std::any_of(scene.overview->lanes.begin(), scene.overview->lanes.end(), [&](const Lane& lane) {
          return lane.kind == entry.needs && (entry.key < 0 || lane.key == entry.key);
        });
    if (!shown) continue;
    painter.fillRect(QRect(x, area.center().y() - 5, 11, 11), entry.colour);
    const QString text = QString::fromUtf8(entry.text);
    painter.setPen(theme.muted);
    painter.drawText(QRect(x + 17, area.top(), 300, area.height()), Qt::AlignVCenter | Qt::AlignLeft, text);
    x += 17 + painter.fontMetrics().horizontalAdvance(text) + 22;
  }
}

int head_height(const Scene& scene) {
  return kHeadline + kWarning * static_cast<int>(scene.overview->warnings.size());
}

}  // namespace

void paint_timeline(QPainter& painter, const Scene& scene, const QSize& size) {
  painter.save();
  Frame(painter, scene, size).paint();
  painter.restore();
}

int page_height(const Scene& scene) {
  return head_height(scene) + kAxisHeight + scene.layout.height() + kLegend;
}

void paint_page(QPainter& painter, const Scene& scene, const QSize& size) {
  const Theme& theme = scene.theme;
  painter.fillRect(QRect(QPoint(0, 0), size), theme.background);
  QFont font = painter.font();
  const QFont plain = font;
  font.setBold(true);
  font.setPointSizeF(plain.pointSizeF() * 1.25);
  painter.setFont(font);
  painter.setPen(theme.text);
  const QString file = QFileInfo(scene.overview->path).fileName();
  painter.drawText(QRect(kPageMargin, 0, size.width() - 2 * kPageMargin, kHeadline),
                   Qt::AlignVCenter | Qt::AlignLeft, file);
  const int file_width = painter.fontMetrics().horizontalAdvance(file);
  painter.setFont(plain);
  painter.setPen(theme.muted);
  const QRect rest(kPageMargin + file_width + 18, 1, size.width() - 2 * kPageMargin - file_width - 18,
                   kHeadline);
  painter.drawText(rest, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(scene.overview->headline, Qt::ElideRight, rest.width()));
  int y = kHeadline;
  for (const QString& warning : scene.overview->warnings) {
    painter.fillRect(QRect(0, y, size.width(), kWarning), theme.warning);
    painter.setPen(theme.warning_text);
    painter.drawText(QRect(kPageMargin, y, size.width() - 2 * kPageMargin, kWarning),
                     Qt::AlignVCenter | Qt::AlignLeft, QStringLiteral("⚠  ") + warning);
    y += kWarning;
  }
  const QSize timeline(size.width(), std::max(1, size.height() - y - kLegend));
  painter.save();
  painter.translate(0, y);
  paint_timeline(painter, scene, timeline);
  painter.restore();
  painter.fillRect(QRect(0, size.height() - kLegend, size.width(), kLegend), theme.axis);
  legend(painter, scene, QRect(kPageMargin, size.height() - kLegend, size.width() - kPageMargin, kLegend));
}

}  // namespace tferry::gui
