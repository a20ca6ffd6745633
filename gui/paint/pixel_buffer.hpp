#pragma once

#include <QImage>
#include <QSize>

#include <cstddef>
#include <vector>

namespace tferry::gui {

/// Pixels that are painted and thrown away some dozen times a frame: their memory is kept, because fresh
/// pages cost more than what is painted on them. Threads: one buffer each.
class PixelBuffer {
 public:
  static PixelBuffer& of_this_thread() {
    thread_local PixelBuffer buffer;
    return buffer;
  }

  /// Room for a picture of this size, with whatever was there before; valid until the next call.
  QRgb* resize(const QSize& size) {
    size_ = size;
    const auto count = static_cast<std::size_t>(size.width()) * static_cast<std::size_t>(size.height());
    if (pixels_.size() < count) pixels_.resize(count);
    return pixels_.data();
  }
  /// The picture; it has to be gone before the next resize.
  QImage image(QImage::Format format = QImage::Format_ARGB32_Premultiplied) const {
    return QImage(reinterpret_cast<const uchar*>(pixels_.data()), size_.width(), size_.height(),
                  size_.width() * static_cast<int>(sizeof(QRgb)), format);
  }

 private:
  std::vector<QRgb> pixels_;
  QSize size_;
};

}  // namespace tferry::gui
