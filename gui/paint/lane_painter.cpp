#include "gui/paint/lane_painter.hpp"

#include "gui/paint/column_image.hpp"
#include "gui/paint/pixel_buffer.hpp"
#include "gui/paint/text_cache.hpp"
#include "gui/session/tensor_lanes.hpp"
#include "gui/time/time_text.hpp"

#include <QFontMetrics>
#include <QImage>

#include <algorithm>
#include <array>
#include <cmath>

namespace tferry::gui {
namespace {

constexpr double kWide = 3;             // pixels from which an event is drawn by itself
constexpr double kLabelled = 34;        // ... and has its name written on it
constexpr double kHeadroom = 1.12;      // above the highest of a lane of memory
constexpr int kLateMark = 5;            // pixels on top of a fetch that was waited for
constexpr float kFaintest = 0.22F;      // of a column with a single short event: still to be seen
constexpr float kFaintestRare = 0.55F;  // the same where each one matters
constexpr double kPlanned = 0.6;        // of the colour; the rest is background

constexpr std::array kSyncs = {"wait", "event", "stream waits", "stream", "context"};
constexpr std::array kMoves = {"moved", "park", "fetch", "clean drop", "discard", "in place"};
constexpr std::array kMigrations = {"event",       "GPU fault",  "CPU fault", "to the GPU",
                                    "to the host", "GPU to GPU", "thrashing"};

template <std::size_t kSize>
QString word(const std::array<const char*, kSize>& words, std::size_t index) {
  return QString::fromUtf8(words[index < kSize ? index : 0]);
}

/// The next round number, so that scales change rarely and are easy to read.
double round_up(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

/// Lanes of waits and losses, which are few where all is well.
bool is_rare(LaneKind kind) { return kind == LaneKind::kContention || kind == LaneKind::kGates; }

}  // namespace

double memory_scale(const Lane& lane, const Slice& slice) {
  double highest = lane.limit;
  for (const Sample& sample : slice.samples) highest = std::max(highest, sample.high);
  return std::max(highest * kHeadroom, 1.0);
}

QString LanePainter::label(const Lane& lane, const Item& item) const {
  switch (lane.kind) {
    case LaneKind::kIterations:
      return QStringLiteral("%1   %2").arg(item.bytes).arg(duration_text(item.end_ns - item.start_ns));
    case LaneKind::kStream:
      if (item.table == EventTable::kMemset) return QStringLiteral("memset");
      return scene_.names->brief(item.name_id);
    case LaneKind::kMarkers:
      return scene_.names->full(item.name_id);
    case LaneKind::kCopies:
      return ((item.tone & kPageable) != 0 ? QStringLiteral("pageable ") : QString()) +
             bytes_text(static_cast<double>(item.bytes));
    case LaneKind::kSyncs:
      return word(kSyncs, item.tone);
    case LaneKind::kMoves:
    case LaneKind::kPlan:
      return (item.late() ? QStringLiteral("late by %1: ").arg(duration_text(item.late_ns)) : QString()) +
             word(kMoves, item.tone) + QLatin1Char(' ') + bytes_text(static_cast<double>(item.bytes));
    case LaneKind::kMigrations:
      return word(kMigrations, item.tone);
    case LaneKind::kGates:
      return item.bytes > 0 ? QStringLiteral("waits for ") + bytes_text(static_cast<double>(item.bytes))
                            : QStringLiteral("waits");
    case LaneKind::kContention:
      return duration_text(item.bytes) + QStringLiteral(" lost");
    default:
      return {};
  }
}

bool LanePainter::is_dimmed(const Lane& lane, const Item& item) const {
  if (scene_.matching.empty()) return false;
  const bool named = lane.kind == LaneKind::kStream || lane.kind == LaneKind::kMarkers;
  return !named || !scene_.matching.contains(item.name_id);
}

void LanePainter::narrow(const Item& item, double x0, double x1, const QColor& colour) {
  const double last = static_cast<double>(columns_.size());
  x0 = std::clamp(x0, 0.0, last);
  x1 = std::clamp(x1, x0, last);
  const auto add = [&](double x, double share) {
    const auto index = static_cast<std::size_t>(x);
    if (index >= columns_.size()) return;
    Column& column = columns_[index];
    const auto weight = static_cast<float>(std::max(share * static_cast<double>(item.busy), 0.02));
    column.covered += weight;
    if (weight < column.best) return;
    column.best = weight;
    column.colour = colour.rgba();
  };
  if (x1 - x0 < 1e-6) return add(x0, 0);
  for (double x = x0; x < x1;) {
    const double next = std::min(x1, std::floor(x) + 1);
    add(x, next - x);
    x = next;
  }
}

void LanePainter::wide(const Lane& lane, int index, const Item& item, double x0, double x1, const QRect& row,
                       const QColor& colour) {
  const double left = std::max(x0, -8.0), right = std::min(x1, static_cast<double>(row.width()) + 8);
  // A pixel of background between neighbours keeps them apart without an outline.
  const QRect box(row.left() + static_cast<int>(std::lround(left)), row.top(),
                  std::max(1, static_cast<int>(std::lround(right)) - static_cast<int>(std::lround(left)) - 1),
                  row.height());
  QColor fill = colour;
  if (item.id == 0 || lane.kind == LaneKind::kContention)
    fill.setAlphaF(static_cast<float>(fill.alphaF() * std::max(kFaintest, item.busy)));
  painter_.fillRect(box, fill);
  const bool parked =
      lane.kind == LaneKind::kTensor && item.tone == static_cast<std::uint8_t>(TensorTone::kParked);
  if (parked) painter_.fillRect(box, QBrush(scene_.theme.background, Qt::BDiagPattern));
  if (item.late()) {
    const int mark = std::min(kLateMark, row.height() / 5);
    painter_.fillRect(QRect(box.left(), box.top(), box.width(), mark), scene_.theme.wait);
  }
  if (lane.kind == LaneKind::kCopies && item.id != 0 && (item.tone & kPageable) != 0)
    painter_.fillRect(box, QBrush(scene_.theme.background, Qt::BDiagPattern));
  if (item.open) painter_.fillRect(box, QBrush(scene_.theme.muted, Qt::BDiagPattern));
  const bool selected =
      item.id != 0 && scene_.selected == EventRef{item.table, item.id} && scene_.selected_lane == index;
  if (selected) {
    painter_.setPen(QPen(scene_.theme.accent, 2));
    painter_.setBrush(Qt::NoBrush);
    painter_.drawRect(box.adjusted(1, 1, -1, -1));
  }
  const QRect inside =
      box.intersected(QRect(row.left(), row.top(), row.width(), row.height())).adjusted(4, 0, -3, 0);
  if (inside.width() < kLabelled || row.height() < 12) return;
  const QString text =
      item.id == 0 && item.count > 1 ? QStringLiteral("%1 events").arg(item.count) : label(lane, item);
  painter_.setPen(fill.alpha() < 128 ? scene_.theme.text : Theme::text_on(colour));
  TextCache::of_this_thread().draw(painter_, inside, text);
}

/// What a plan wants is paler than what became of it.
QColor LanePainter::colour_of(const Lane& lane, const Item& item) const {
  const QColor colour = scene_.theme.of(lane, item, *scene_.names);
  if (lane.kind != LaneKind::kPlan || (item.late() && item.id == 0)) return colour;
  const QColor& below = scene_.theme.background;
  const auto mixed = [](int a, int b) {
    return static_cast<int>(std::lround(kPlanned * a + (1 - kPlanned) * b));
  };
  return {mixed(colour.red(), below.red()), mixed(colour.green(), below.green()),
          mixed(colour.blue(), below.blue())};
}

void LanePainter::draw_columns(const QRect& row, float faintest) {
  const bool any =
      std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return column.covered > 0; });
  if (!any) return;
  PixelBuffer& buffer = PixelBuffer::of_this_thread();
  QRgb* pixels = buffer.resize(QSize(static_cast<int>(columns_.size()), row.height()));
  for (std::size_t x = 0; x < columns_.size(); ++x) {
    const Column& column = columns_[x];
    pixels[x] = 0;
    if (column.covered <= 0) continue;
    const float alpha = std::min(1.0F, faintest + (1 - faintest) * column.covered);
    const auto strength = static_cast<int>(alpha * static_cast<float>(qAlpha(column.colour)));
    pixels[x] =
        qPremultiply(qRgba(qRed(column.colour), qGreen(column.colour), qBlue(column.colour), strength));
  }
  for (int y = 1; y < row.height(); ++y)
    std::copy(pixels, pixels + columns_.size(), pixels + static_cast<std::size_t>(y) * columns_.size());
  painter_.drawImage(row.topLeft(), buffer.image());
}

void LanePainter::items(const Lane& lane, int index, const Slice& slice, const QRect& area) {
  const int height = row_height(lane);
  for (int row_number = 0; row_number < lane.rows; ++row_number) {
    const QRect row(area.left(), area.top() + row_number * height, area.width(),
                    height - (lane.rows > 1 ? 1 : 0));
    columns_.assign(static_cast<std::size_t>(std::max(1, row.width())), Column());
    std::vector<const Item*> wide_items;
    for (const Item& item : slice.items) {
      if (item.row != row_number) continue;
      const double x0 = scene_.time.x_of(item.start_ns), x1 = scene_.time.x_of(item.end_ns);
      if (x1 < 0) continue;
      if (x0 > row.width()) break;
      if (x1 - x0 >= kWide) {
        wide_items.push_back(&item);
        continue;
      }
      // Too narrow for a mark of its own.
      QColor colour = item.late() ? scene_.theme.wait : colour_of(lane, item);
      if (is_dimmed(lane, item)) colour.setAlphaF(0.15F);
      narrow(item, x0, x1, colour);
    }
    draw_columns(row, is_rare(lane.kind) ? kFaintestRare : kFaintest);
    for (const Item* item : wide_items) {
      QColor colour = colour_of(lane, *item);
      if (is_dimmed(lane, *item)) colour.setAlphaF(0.15F);
      wide(lane, index, *item, scene_.time.x_of(item->start_ns), scene_.time.x_of(item->end_ns), row, colour);
    }
  }
}

void LanePainter::limit_line(const QRect& area, double share, const QString& text, const QColor& colour) {
  if (share < 0 || share > 1) return;
  const int y = area.bottom() - static_cast<int>(std::lround(share * (area.height() - 1)));
  QPen pen(colour, 1, Qt::DashLine);
  painter_.setPen(pen);
  painter_.drawLine(area.left(), y, area.right(), y);
  painter_.setPen(colour);
  const int width = TextCache::of_this_thread().width(painter_, text) + 8;
  const int text_y =
      y - area.top() > painter_.fontMetrics().height() + 2 ? y - painter_.fontMetrics().height() : y + 1;
  const QRect box(area.right() - width, text_y, width, painter_.fontMetrics().height());
  QColor veil = scene_.theme.background;
  veil.setAlphaF(0.8F);  // to be read on a strong chart, too
  painter_.fillRect(box.adjusted(-3, 0, 0, 0), veil);
  TextCache::of_this_thread().draw(painter_, box, text);
}

void LanePainter::scale_text(const QRect& area, const QString& text, double line_share) {
  const int height = painter_.fontMetrics().height();
  const int line = static_cast<int>(std::lround((1 - line_share) * (area.height() - 1)));
  // Below a line that would run through it, and on a veil, for it to be read on a dark chart, too.
  const int y = line_share > 0 && line <= height ? line + 1 : 1;
  const QRect box(area.left() + 3, area.top() + y, TextCache::of_this_thread().width(painter_, text) + 4,
                  height);
  QColor veil = scene_.theme.background;
  veil.setAlphaF(0.7F);
  painter_.fillRect(box, veil);
  painter_.setPen(scene_.theme.muted);
  TextCache::of_this_thread().draw(painter_, box.adjusted(1, 0, 8, 0), text);
}

void LanePainter::curve(const Lane& lane, const Slice& slice, const QRect& area) {
  const auto width = static_cast<std::size_t>(std::max(1, area.width()));
  std::vector<double> high(width, 0), mean(width, 0), part(width, 0);
  double highest = 0;
  for (const Sample& sample : slice.samples) {
    const double x0 = scene_.time.x_of(sample.start_ns), x1 = scene_.time.x_of(sample.end_ns);
    if (x1 < 0) continue;
    if (x0 > area.width()) break;
    const auto from = static_cast<std::size_t>(std::clamp(x0, 0.0, static_cast<double>(width - 1)));
    const auto to =
        static_cast<std::size_t>(std::clamp(x1, static_cast<double>(from) + 1, static_cast<double>(width)));
    for (std::size_t x = from; x < to; ++x) {
      high[x] = std::max(high[x], sample.high);
      mean[x] = std::max(mean[x], sample.mean);
      part[x] = std::max(part[x], sample.part);
    }
    highest = std::max(highest, sample.high);
  }
  // What is seen fills the lane, up to the capacity, which is drawn where it is near.
  const double full = lane.capacity > 0 && highest > lane.capacity * 0.4
                          ? std::max(lane.capacity * 1.08, highest)
                          : round_up(highest);
  const auto top = [&](double value) {
    return area.height() - static_cast<int>(std::lround(value / full * area.height()));
  };
  const Theme& theme = scene_.theme;
  const bool pcie = lane.owner != 0;
  const QColor strong = !pcie ? theme.counter_known : lane.owner == 1 ? theme.to_gpu : theme.to_host;
  QColor pale = strong;
  pale.setAlphaF(theme.dark ? 0.45F : 0.4F);
  QColor palest = strong;
  palest.setAlphaF(0.2F);
  std::vector<int> tops_high(width), tops_mean(width), tops_part(width);
  for (std::size_t x = 0; x < width; ++x) {
    tops_high[x] = top(high[x]);
    tops_mean[x] = mean[x] > 0 ? std::min(top(mean[x]), area.height() - 1) : area.height();
    tops_part[x] = top(part[x]);
  }
  ColumnImage image(area, backdrop_);
  image.add(std::move(tops_high), palest);
  image.add(std::move(tops_mean), pcie ? pale : strong);
  if (pcie) image.add(std::move(tops_part), strong);
  image.draw(painter_);
  if (slice.samples.empty() || highest <= 0)
    return scale_text(area, QStringLiteral("no traffic sampled here"));
  const bool capacity_shown = lane.capacity > 0 && full >= lane.capacity;
  if (capacity_shown)
    limit_line(area, lane.capacity / full, QStringLiteral("capacity ") + rate_text(lane.capacity),
               theme.limit);
  QString scale = rate_text(full);
  if (lane.capacity > 0 && !capacity_shown)
    scale += QStringLiteral("   (capacity %1)").arg(rate_text(lane.capacity));
  scale_text(area, scale, capacity_shown ? lane.capacity / full : 0);
}

void LanePainter::memory(const Lane& lane, const Slice& slice, const QRect& area) {
  const Theme& theme = scene_.theme;
  const double full = memory_scale(lane, slice), highest = full > 1 ? full / kHeadroom : 0;
  const auto top = [&](double value) {
    return area.height() - static_cast<int>(std::lround(value / full * area.height()));
  };
  const auto width = static_cast<std::size_t>(std::max(1, area.width()));
  std::vector<int> all(width, area.height()), card = all, used = all;
  int done = 0;
  for (const Sample& sample : slice.samples) {
    const double left = scene_.time.x_of(sample.start_ns), right = scene_.time.x_of(sample.end_ns);
    if (left > area.width()) break;
    const int x0 = std::max(done, static_cast<int>(std::floor(std::max(0.0, left))));
    const int x1 = static_cast<int>(std::ceil(std::min(right, static_cast<double>(width))));
    if (x1 <= x0) continue;
    done = x1;
    const double on_card = std::max(0.0, sample.mean - sample.beyond);
    std::fill(all.begin() + x0, all.begin() + x1, top(sample.mean));
    std::fill(card.begin() + x0, card.begin() + x1, top(on_card));
    std::fill(used.begin() + x0, used.begin() + x1, top(std::max(0.0, on_card - sample.part)));
  }
  ColumnImage image(area, backdrop_);
  image.add(std::move(all), theme.memory_parked);
  image.add(std::move(card), theme.memory_dead);
  image.add(std::move(used), theme.memory);
  image.draw(painter_);
  if (lane.limit > 0)
    limit_line(area, lane.limit / full, QStringLiteral("budget ") + bytes_text(lane.limit), theme.limit);
  QString scale = bytes_text(highest);
  if (lane.capacity > 0) scale += QStringLiteral("   (card %1)").arg(bytes_text(lane.capacity));
  scale_text(area, scale, lane.limit / full);
}

}  // namespace tferry::gui
