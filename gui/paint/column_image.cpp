#include "gui/paint/column_image.hpp"

#include <algorithm>

namespace tferry::gui {

void ColumnImage::draw(QPainter& painter) const {
  if (area_.isEmpty()) return;
  QImage image(area_.size(), QImage::Format_ARGB32_Premultiplied);
  const auto width = static_cast<std::size_t>(area_.width());
  for (int y = 0; y < area_.height(); ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    std::fill(line, line + width, 0U);
    for (const Layer& layer : layers_) {
      const int* tops = layer.tops.data();
      for (std::size_t x = 0; x < width; ++x) line[x] = y >= tops[x] ? layer.colour : line[x];
    }
  }
  painter.drawImage(area_.topLeft(), image);
}

}  // namespace tferry::gui
