#include "gui/paint/column_image.hpp"

#include "gui/paint/pixel_buffer.hpp"

#include <algorithm>

namespace tferry::gui {

void ColumnImage::draw(QPainter& painter) const {
  if (area_.isEmpty()) return;
  PixelBuffer& buffer = PixelBuffer::of_this_thread();
  QRgb* pixels = buffer.resize(area_.size());
  const auto width = static_cast<std::size_t>(area_.width());
  for (int y = 0; y < area_.height(); ++y) {
    QRgb* line = pixels + static_cast<std::size_t>(y) * width;
    std::fill(line, line + width, 0U);
    for (const Layer& layer : layers_) cover(line, layer.tops.data(), width, y, layer.colour);
  }
  painter.drawImage(area_.topLeft(), buffer.image());
}

/// No branch and no other memory, so that compilers make vector instructions of it (see CMakeLists.txt).
void ColumnImage::cover(QRgb* line, const int* tops, std::size_t width, int y, QRgb colour) {
  for (std::size_t x = 0; x < width; ++x) {
    const QRgb covered = 0U - static_cast<QRgb>(y >= tops[x]);
    line[x] = (colour & covered) | (line[x] & ~covered);
  }
}

}  // namespace tferry::gui
