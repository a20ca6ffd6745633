#pragma once

#include "gui/paint/chart_painter.hpp"
#include "gui/window/session_worker.hpp"

#include <QWidget>

#include <vector>

namespace tferry::gui {

/// The picture above the tables of reports that have one: the curve and the waterfall. A click on a dot of
/// the curve chooses it; arrows go from dot to dot, Enter chooses.
class ReportChart : public QWidget {
  Q_OBJECT

 public:
  explicit ReportChart(TablesPtr tables, QWidget* parent = nullptr);

  static bool is_for(const std::vector<cli::Table>& tables);
  const std::vector<ChartDot>& dots() const { return dots_; }

 Q_SIGNALS:
  /// A dot was clicked. `plan` is 0 where the session has no plan of that budget.
  void chosen(qint64 plan, double budget_bytes, double time_ns);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void choose(const ChartDot& dot);

  TablesPtr tables_;
  std::vector<ChartDot> dots_;
  int current_ = -1;  ///< dot that the keys are at
};

}  // namespace tferry::gui
