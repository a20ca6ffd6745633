#pragma once

#include <QSortFilterProxyModel>

namespace tferry::gui {

/// Sorts a report by plain values, with unknown ones last, and keeps rows with a cell that contains the text.
class ReportFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit ReportFilter(QObject* parent = nullptr);

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace tferry::gui
