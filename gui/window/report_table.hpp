#pragma once

#include "gui/window/session_worker.hpp"

#include <QMap>
#include <QTableView>

#include <cstddef>

namespace tferry::gui {

/// One table of a report: sorted by a click on a head (or Alt+Up and Alt+Down, by the current column), as
/// high as its rows up to some. Enter chooses a row, X asks about its tensor, Ctrl+C copies as CSV; the menu
/// of a row has the same.
class ReportTable : public QTableView {
  Q_OBJECT

 public:
  ReportTable(const QString& report, const TablesPtr& tables, std::size_t index, QWidget* parent = nullptr);

  void filter(const QString& text);
  /// The plain values of a row by the heads of its columns.
  QMap<QString, QString> cells(int row) const;
  /// The tensor that a row is about, as plans name it; empty: none.
  QString tensor(int row) const;
  /// The rows that are shown as CSV, or of them the selected ones; empty if there are none.
  QString csv(bool selected) const;

 Q_SIGNALS:
  void row_chosen(const QMap<QString, QString>& cells, const QString& column);
  void explanation_wanted(const QString& tensor);
  void copy_wanted();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void choose(const QModelIndex& index);
  void sort_by_current(Qt::SortOrder order);

  QString report_;
};

}  // namespace tferry::gui
