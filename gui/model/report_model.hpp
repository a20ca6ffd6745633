#pragma once

#include "cli/report/table.hpp"

#include <QAbstractTableModel>
#include <QString>

#include <memory>

namespace tferry::gui {

/// One table of a report as a model: figures shown scaled, sorted by their plain values, unknown ones last
/// and in words. Rows carry how they are known as their tooltip.
class ReportModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { kPlain = Qt::UserRole };  ///< the plain value, for sorting and CSV

  explicit ReportModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  /// Keeps the tables alive; shows the one at `index`.
  void set_table(std::shared_ptr<const std::vector<cli::Table>> tables, std::size_t index);
  const cli::Table* table() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

  /// These rows as CSV (RFC 4180) with plain figures, as tferry report --format csv prints them.
  QString csv(const std::vector<int>& rows) const;

 private:
  /// Cells of the matrix are the stronger coloured, the more was lost.
  QVariant heat(const cli::Row& row, std::size_t column) const;

  std::shared_ptr<const std::vector<cli::Table>> tables_;
  std::size_t index_ = 0;
};

}  // namespace tferry::gui
