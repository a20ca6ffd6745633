#pragma once

#include <QColor>
#include <QImage>
#include <QPainter>
#include <QRect>

#include <cstddef>
#include <vector>

namespace tferry::gui {

/// A stacked area chart, a value for each pixel column, painted as one image: thousands of rectangles of one
/// pixel's width would take longer than a frame may.
class ColumnImage {
 public:
  /// `backdrop`: what lies below, a colour for each column and the same in all rows; the image is then
  /// opaque, which painters only copy. Without one it is blended with whatever is there.
  explicit ColumnImage(const QRect& area, const std::vector<QRgb>* backdrop = nullptr)
      : area_(area), backdrop_(backdrop) {}

  /// Fills each column from `tops` down to the bottom; later layers cover earlier ones. In pixels from the
  /// top of the area; at or below its height: nothing.
  void add(std::vector<int> tops, const QColor& colour) {
    layers_.push_back({std::move(tops), premultiplied(colour)});
  }
  void draw(QPainter& painter) const;

 private:
  struct Layer {
    std::vector<int> tops;
    QRgb colour;
  };
  static QRgb premultiplied(const QColor& colour) { return qPremultiply(colour.rgba()); }

  QRect area_;
  const std::vector<QRgb>* backdrop_;
  std::vector<Layer> layers_;
};

}  // namespace tferry::gui
