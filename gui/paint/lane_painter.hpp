#pragma once

#include "gui/paint/scene.hpp"

#include <QPainter>
#include <QRect>

#include <vector>

namespace tferry::gui {

/// The bytes that the full height of a lane of memory stands for.
double memory_scale(const Lane& lane, const Slice& slice);

/// Draws the events of lanes. Events of less than three pixels are gathered by pixel column and drawn as one
/// image, so that a frame costs the same whatever their number; the colour of a column is that of what takes
/// most of it, its strength the share of the time that is covered.
class LanePainter {
 public:
  /// `backdrop`: the colours below charts, column by column.
  LanePainter(QPainter& painter, const Scene& scene, const std::vector<QRgb>* backdrop = nullptr)
      : painter_(painter), scene_(scene), backdrop_(backdrop) {}

  void items(const Lane& lane, int index, const Slice& slice, const QRect& area);
  /// An area chart against the capacity.
  void curve(const Lane& lane, const Slice& slice, const QRect& area);
  /// Stacked: in use, dead, parked; with the budget as a line.
  void memory(const Lane& lane, const Slice& slice, const QRect& area);

 private:
  struct Column {
    float covered = 0;
    float best = 0;
    QRgb colour = 0;
  };

  void narrow(const Item& item, double x0, double x1, const QColor& colour);
  void wide(const Lane& lane, int index, const Item& item, double x0, double x1, const QRect& row,
            const QColor& colour);
  void draw_columns(const QRect& row, float faintest);
  QColor colour_of(const Lane& lane, const Item& item) const;
  QString label(const Lane& lane, const Item& item) const;
  bool is_dimmed(const Lane& lane, const Item& item) const;
  void limit_line(const QRect& area, double share, const QString& text, const QColor& colour);
  /// `line_share`: where a limit line runs, as a share of the height; 0: nowhere.
  void scale_text(const QRect& area, const QString& text, double line_share = 0);

  QPainter& painter_;
  const Scene& scene_;
  const std::vector<QRgb>* backdrop_;
  std::vector<Column> columns_;
};

}  // namespace tferry::gui
