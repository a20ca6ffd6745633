#include "gui/model/report_filter.hpp"

#include "gui/model/report_model.hpp"

namespace tferry::gui {

ReportFilter::ReportFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setFilterCaseSensitivity(Qt::CaseInsensitive);
  setFilterKeyColumn(-1);
  setSortRole(ReportModel::kPlain);
}

bool ReportFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(ReportModel::kPlain), b = right.data(ReportModel::kPlain);
  if (!a.isValid() || !b.isValid())
    return sortOrder() == Qt::AscendingOrder ? a.isValid() && !b.isValid() : !a.isValid() && b.isValid();
  const bool words = a.typeId() == QMetaType::QString || b.typeId() == QMetaType::QString;
  return words ? QString::localeAwareCompare(a.toString(), b.toString()) < 0 : a.toDouble() < b.toDouble();
}

}  // namespace tferry::gui
