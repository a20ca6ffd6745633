#include "gui/paint/text_cache.hpp"

#include <QFontMetrics>

namespace tferry::gui {
namespace {

constexpr int kMost = 6000;
constexpr int kStep = 6;  // pixels of width that share an elided text

}  // namespace

TextCache& TextCache::of_this_thread(bool bold) {
  thread_local TextCache caches[2];
  return caches[bold ? 1 : 0];
}

const TextCache::Line& TextCache::line(const QPainter& painter, const QString& text) {
  const auto found = lines_.constFind(text);
  if (found != lines_.constEnd()) return *found;
  ++kept_;
  Line made{QStaticText(text), painter.fontMetrics().horizontalAdvance(text)};
  made.laid_out.setTextFormat(Qt::PlainText);
  made.laid_out.prepare({}, font_);
  return *lines_.insert(text, made);
}

const TextCache::Line& TextCache::elided(const QPainter& painter, const QString& text, int width) {
  QHash<int, Line>& widths = elided_[text];
  const int step = width / kStep;
  const auto found = widths.constFind(step);
  if (found != widths.constEnd()) return *found;
  ++kept_;
  Line made{QStaticText(painter.fontMetrics().elidedText(text, Qt::ElideRight, step * kStep)), step * kStep};
  made.laid_out.setTextFormat(Qt::PlainText);
  made.laid_out.prepare({}, font_);
  return *widths.insert(step, made);
}

void TextCache::use_font_of(const QPainter& painter) {
  if (kept_ <= kMost && font_ == painter.font()) return;
  font_ = painter.font();
  lines_.clear();
  elided_.clear();
  kept_ = 0;
}

void TextCache::draw(QPainter& painter, const QRect& box, const QString& text) {
  if (text.isEmpty() || box.width() < kStep) return;
  use_font_of(painter);
  const Line* shown = &line(painter, text);
  if (shown->width > box.width()) shown = &elided(painter, text, box.width());
  const int height = painter.fontMetrics().height();
  painter.drawStaticText(box.left(), box.top() + (box.height() - height) / 2, shown->laid_out);
}

}  // namespace tferry::gui
