#include "gui/paint/column_image.hpp"

#include "gui/paint/pixel_buffer.hpp"

#include <algorithm>
#include <cstdint>

namespace tferry::gui {
namespace {

/// A layer begins in a column.
struct Begin {
  std::uint32_t column;
  std::uint32_t layer;
};

/// A premultiplied colour over an opaque one.
QRgb over(QRgb above, QRgb below) {
  const int rest = 255 - qAlpha(above);
  const auto mixed = [rest](int a, int b) { return a + (b * rest + 127) / 255; };
  return qRgb(mixed(qRed(above), qRed(below)), mixed(qGreen(above), qGreen(below)),
              mixed(qBlue(above), qBlue(below)));
}

}  // namespace

/// Each row is a copy of the one above it, changed only where a layer begins: what is left to do for a row is
/// then a copy of memory, and the columns' changes are done once, not once a row.
void ColumnImage::draw(QPainter& painter) const {
  if (area_.isEmpty()) return;
  const auto width = static_cast<std::size_t>(area_.width()),
             height = static_cast<std::size_t>(area_.height());
  std::vector<std::uint32_t> first(height + 2, 0);  // of each row's beginnings: a counting sort
  const auto row_of = [height](int top) {
    return top < 0 ? std::size_t{0} : std::min(static_cast<std::size_t>(top), height);
  };
  for (const Layer& layer : layers_) {
    for (std::size_t x = 0; x < width; ++x) ++first[row_of(layer.tops[x]) + 1];
  }
  for (std::size_t row = 1; row < first.size(); ++row) first[row] += first[row - 1];
  std::vector<Begin> begins(first.back());
  for (std::uint32_t number = 0; number < layers_.size(); ++number) {
    for (std::size_t x = 0; x < width; ++x)
      begins[first[row_of(layers_[number].tops[x])]++] = {static_cast<std::uint32_t>(x), number};
  }
  PixelBuffer& buffer = PixelBuffer::of_this_thread();
  QRgb* line = buffer.resize(area_.size());
  std::vector<std::uint32_t> highest(width, 0);
  const bool opaque = backdrop_ && backdrop_->size() >= width;
  if (opaque) {
    std::copy(backdrop_->begin(), backdrop_->begin() + area_.width(), line);
  } else {
    std::fill(line, line + width, 0U);
  }
  for (std::size_t row = 0, next = 0; row < height; ++row) {
    if (row > 0) line = std::copy(line, line + width, line + width) - width;
    for (; next < first[row]; ++next) {
      const Begin& begin = begins[next];
      if (begin.layer < highest[begin.column]) continue;  // a later layer covers it already
      highest[begin.column] = begin.layer;
      const QRgb colour = layers_[begin.layer].colour;
      line[begin.column] = opaque ? over(colour, (*backdrop_)[begin.column]) : colour;
    }
  }
  painter.drawImage(area_.topLeft(),
                    buffer.image(opaque ? QImage::Format_RGB32 : QImage::Format_ARGB32_Premultiplied));
}

}  // namespace tferry::gui
