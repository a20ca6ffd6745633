#pragma once

#include "cli/report/table.hpp"
#include "gui/paint/theme.hpp"

#include <QPainter>
#include <QRect>
#include <QString>

#include <optional>
#include <vector>

namespace tferry::gui {

/// A dot of the curve: a plan or a run of the session, or a point that was simulated.
struct ChartDot {
  QPointF place;          ///< in pixels
  std::int64_t plan = 0;  ///< plan.id, 0: none is stored
  double budget = 0;      ///< bytes
  double time = 0;        ///< ns
};

/// Step time against budget, from the tables of report_curve: the bound, what runs without a plan and what
/// plans take as lines, told apart by dashes and labels too; stored plans as circles, measured runs as
/// squares. Returns the dots.
std::vector<ChartDot> paint_curve(QPainter& painter, const Theme& theme,
                                  const std::vector<cli::Table>& tables, const QRect& area);

/// The newest table of report_waterfall as bars, each beginning where the one before ends.
void paint_waterfall(QPainter& painter, const Theme& theme, const cli::Table& table, const QRect& area);

/// The number in a cell, whatever its type.
std::optional<double> number_of(const cli::Row& row, std::size_t column);

}  // namespace tferry::gui
