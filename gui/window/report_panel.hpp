#pragma once

#include "gui/window/report_chart.hpp"
#include "gui/window/report_table.hpp"
#include "gui/window/session_worker.hpp"

#include <QLineEdit>
#include <QMap>
#include <QVBoxLayout>
#include <QWidget>

#include <vector>

namespace tferry::gui {

/// One report: its tables below each other, filtered by one line, sorted by a click on a head, copied as CSV
/// by Ctrl+C (the selected rows, else all).
class ReportPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ReportPanel(QString name, QWidget* parent = nullptr);

  const QString& name() const { return name_; }
  void show_tables(const TablesPtr& tables);
  void show_message(const QString& text);
  /// Selects the first row that has this text in a cell; false if there is none.
  bool select_row(const QString& text);
  /// The same for the plain value of a column.
  bool select_row(const QString& column, const QString& value);
  QString selected_csv() const;
  const std::vector<ReportTable*>& views() const { return views_; }
  QLineEdit* filter() const { return filter_; }
  ReportChart* chart() const { return chart_; }  ///< nullptr: the report has none

 Q_SIGNALS:
  /// A row was chosen: the plain values of its cells by the heads of their columns, and the head of the
  /// chosen one.
  void row_chosen(const QString& report, const QMap<QString, QString>& cells, const QString& column);
  /// A dot of the curve was: its plan, 0 for none, and its budget.
  void dot_chosen(qint64 plan, double budget_bytes, double time_ns);
  /// Why a tensor moves or stays was asked for.
  void explanation_wanted(const QString& tensor);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void clear();
  void copy() const;
  ReportTable* add_table(const TablesPtr& tables, std::size_t index);

  QString name_;
  ReportChart* chart_ = nullptr;
  QLineEdit* filter_;
  QVBoxLayout* content_;
  std::vector<ReportTable*> views_;
};

}  // namespace tferry::gui
