#include "gui/model/report_model.hpp"

#include "cli/report/render.hpp"

#include <QBrush>
#include <QColor>

#include <algorithm>

namespace tferry::gui {

void ReportModel::set_table(std::shared_ptr<const std::vector<cli::Table>> tables, std::size_t index) {
  beginResetModel();
  tables_ = std::move(tables);
  index_ = index;
  endResetModel();
}

const cli::Table* ReportModel::table() const {
  return tables_ && index_ < tables_->size() ? &(*tables_)[index_] : nullptr;
}

int ReportModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !table() ? 0 : static_cast<int>(table()->rows.size());
}

int ReportModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() || !table() ? 0 : static_cast<int>(table()->columns.size());
}

QVariant ReportModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const cli::Row& row = table()->rows[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<std::size_t>(index.column());
  if (column >= row.cells.size()) return {};
  const cli::Cell& cell = row.cells[column];
  switch (role) {
    case Qt::DisplayRole:
      return QString::fromStdString(cli::shown(cell, table()->columns[column].unit));
    case Qt::ToolTipRole:
      return QString::fromStdString(cli::shown(cell, table()->columns[column].unit)) + QStringLiteral("  (") +
             QString::fromUtf8(cli::known_by_name(row.known_by)) + QLatin1Char(')');
    case Qt::TextAlignmentRole:
      return QVariant::fromValue<Qt::Alignment>(
          (std::holds_alternative<std::string>(cell.value) ? Qt::AlignLeft : Qt::AlignRight) |
          Qt::AlignVCenter);
    case Qt::BackgroundRole:
      return heat(row, column);
    case kPlain:
      if (const auto* integer = std::get_if<std::int64_t>(&cell.value))
        return QVariant::fromValue<qlonglong>(*integer);
      if (const auto* real = std::get_if<double>(&cell.value)) return *real;
      if (const auto* text = std::get_if<std::string>(&cell.value)) return QString::fromStdString(*text);
      return {};
    default:
      return {};
  }
}

QVariant ReportModel::heat(const cli::Row& row, std::size_t column) const {
  if (table()->name != "matrix") return {};
  const auto* value = std::get_if<double>(&row.cells[column].value);
  if (!value || column + 1 == table()->columns.size()) return {};  // the sums
  double most = 0;
  for (const cli::Row& other : table()->rows) {
    for (std::size_t i = 0; i + 1 < other.cells.size(); ++i) {
      if (const auto* lost = std::get_if<double>(&other.cells[i].value)) most = std::max(most, *lost);
    }
  }
  if (most <= 0 || *value <= 0) return {};
  QColor colour(0xD5, 0x5E, 0x00);  // as the timeline's bands
  colour.setAlphaF(static_cast<float>(0.1 + 0.6 * *value / most));
  return QBrush(colour);
}

QVariant ReportModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole || orientation != Qt::Horizontal || !table() || section < 0 ||
      section >= columnCount())
    return {};
  return QString::fromStdString(table()->columns[static_cast<std::size_t>(section)].name)
      .replace(QLatin1Char('_'), QLatin1Char(' '));
}

QString ReportModel::csv(const std::vector<int>& rows) const {
  if (!table()) return {};
  cli::Table part(table()->name, table()->title, table()->columns);
  for (const int row : rows) {
    if (row >= 0 && row < rowCount()) part.rows.push_back(table()->rows[static_cast<std::size_t>(row)]);
  }
  return QString::fromStdString(cli::render({part}, cli::Format::kCsv, ""));
}

}  // namespace tferry::gui
