#include "gui/window/report_table.hpp"

#include "gui/model/report_filter.hpp"
#include "gui/model/report_model.hpp"

#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>

#include <algorithm>
#include <variant>
#include <vector>

namespace tferry::gui {
namespace {

constexpr int kMostVisibleRows = 14;
constexpr int kWidestColumn = 460;

ReportFilter* filter_of(const QTableView* view) { return qobject_cast<ReportFilter*>(view->model()); }

const ReportModel* model_of(const QTableView* view) {
  return qobject_cast<const ReportModel*>(filter_of(view)->sourceModel());
}

}  // namespace

ReportTable::ReportTable(const QString& report, const TablesPtr& tables, std::size_t index, QWidget* parent)
    : QTableView(parent), report_(report) {
  auto* model = new ReportModel(this);
  auto* filter = new ReportFilter(this);
  model->set_table(tables, index);
  filter->setSourceModel(model);
  setModel(filter);
  setSortingEnabled(true);
  sortByColumn(-1, Qt::AscendingOrder);
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);  // Tab goes on, arrows move
  const cli::Table& table = (*tables)[index];
  setAccessibleName(QString::fromStdString(table.title));
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  horizontalHeader()->setHighlightSections(false);
  verticalHeader()->setAccessibleName(QStringLiteral("Rows of ") + accessibleName());
  horizontalHeader()->setAccessibleName(QStringLiteral("Columns of ") + accessibleName());
  resizeColumnsToContents();
  for (int column = 0; column < filter->columnCount(); ++column)
    setColumnWidth(column, std::min(columnWidth(column) + 8, kWidestColumn));
  const bool ends_in_words = !table.rows.empty() && !table.rows.front().cells.empty() &&
                             std::holds_alternative<std::string>(table.rows.front().cells.back().value);
  horizontalHeader()->setStretchLastSection(ends_in_words);
  const int rows = std::min(model->rowCount(), kMostVisibleRows);
  setFixedHeight(horizontalHeader()->sizeHint().height() + rows * verticalHeader()->defaultSectionSize() + 6);
  connect(this, &QTableView::activated, this, &ReportTable::choose);
}

void ReportTable::filter(const QString& text) { filter_of(this)->setFilterFixedString(text); }

QMap<QString, QString> ReportTable::cells(int row) const {
  QMap<QString, QString> cells;
  for (int column = 0; column < model()->columnCount(); ++column)
    cells.insert(model()->headerData(column, Qt::Horizontal).toString(),
                 model()->index(row, column).data(ReportModel::kPlain).toString());
  return cells;
}

QString ReportTable::tensor(int row) const {
  const QMap<QString, QString> all = cells(row);
  const QString number = all.value(QStringLiteral("tensor")), name = all.value(QStringLiteral("name"));
  const bool named = !name.isEmpty() && name != QLatin1String("-");
  if (report_ == QLatin1String("memory")) return named ? name : QString();
  if (report_ == QLatin1String("tensors") && named) return name;
  return number == QLatin1String("-") ? QString() : number;
}

void ReportTable::choose(const QModelIndex& index) {
  Q_EMIT row_chosen(cells(index.row()), model()->headerData(index.column(), Qt::Horizontal).toString());
}

QString ReportTable::csv(bool selected) const {
  std::vector<int> rows;
  for (int row = 0; row < model()->rowCount(); ++row) {
    if (selected && !selectionModel()->isRowSelected(row)) continue;
    rows.push_back(filter_of(this)->mapToSource(model()->index(row, 0)).row());
  }
  return rows.empty() ? QString() : model_of(this)->csv(rows);
}

void ReportTable::sort_by_current(Qt::SortOrder order) {
  if (currentIndex().isValid()) sortByColumn(currentIndex().column(), order);
}

void ReportTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return Q_EMIT copy_wanted();
  const bool alt = event->modifiers() == Qt::AltModifier;
  if (alt && event->key() == Qt::Key_Up) return sort_by_current(Qt::AscendingOrder);
  if (alt && event->key() == Qt::Key_Down) return sort_by_current(Qt::DescendingOrder);
  if (event->modifiers() == Qt::NoModifier && event->key() == Qt::Key_X && currentIndex().isValid()) {
    if (const QString about = tensor(currentIndex().row()); !about.isEmpty())
      Q_EMIT explanation_wanted(about);
    return;
  }
  // Keys of the window, which the view would take for the beginning of a name.
  const QString text = event->text();
  if (text == QLatin1String("/") || text == QLatin1String("?") || text == QLatin1String("t"))
    return event->ignore();
  QTableView::keyPressEvent(event);
}

void ReportTable::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  const QModelIndex index = event->reason() == QContextMenuEvent::Mouse
                                ? indexAt(viewport()->mapFromGlobal(event->globalPos()))
                                : currentIndex();
  if (index.isValid()) {
    menu.addAction(QStringLiteral("Go there"), QKeySequence(Qt::Key_Return), this,
                   [this, index] { choose(index); });
    if (const QString about = tensor(index.row()); !about.isEmpty())
      menu.addAction(QStringLiteral("Why it moves or stays"), QKeySequence(Qt::Key_X), this,
                     [this, about] { Q_EMIT explanation_wanted(about); });
  }
  menu.addAction(QStringLiteral("Copy as CSV"), QKeySequence(QKeySequence::Copy), this,
                 [this] { Q_EMIT copy_wanted(); });
  menu.exec(event->globalPos());
}

}  // namespace tferry::gui
