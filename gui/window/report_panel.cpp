#include "gui/window/report_panel.hpp"

#include "gui/model/report_filter.hpp"
#include "gui/model/report_model.hpp"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollArea>
#include <QToolButton>

#include <algorithm>
#include <set>

namespace tferry::gui {
namespace {

constexpr int kMostVisibleRows = 14;
constexpr int kWidestColumn = 460;

const ReportModel* model_of(const QTableView* view) {
  const auto* filter = qobject_cast<const ReportFilter*>(view->model());
  return qobject_cast<const ReportModel*>(filter->sourceModel());
}

}  // namespace

ReportPanel::ReportPanel(QString name, QWidget* parent)
    : QWidget(parent), name_(std::move(name)), filter_(new QLineEdit) {
  filter_->setPlaceholderText(QStringLiteral("Filter rows"));
  filter_->setAccessibleName(QStringLiteral("Filter rows of ") + name_);
  filter_->setClearButtonEnabled(true);
  auto* copy = new QToolButton;
  copy->setText(QStringLiteral("Copy as CSV"));
  connect(copy, &QAbstractButton::clicked, this,
          [this] { QApplication::clipboard()->setText(selected_csv()); });
  auto* top = new QHBoxLayout;
  top->addWidget(filter_, 1);
  top->addWidget(copy);
  auto* inside = new QWidget;
  content_ = new QVBoxLayout(inside);
  content_->setContentsMargins(0, 0, 4, 0);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(inside);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 0);
  layout->setSpacing(4);
  layout->addLayout(top);
  layout->addWidget(scroll, 1);
  show_message(QStringLiteral("Reading …"));
}

void ReportPanel::clear() {
  views_.clear();
  chart_ = nullptr;
  while (QLayoutItem* item = content_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

void ReportPanel::show_message(const QString& text) {
  clear();
  auto* label = new QLabel(text);
  label->setWordWrap(true);
  content_->addWidget(label);
  content_->addStretch(1);
}

void ReportPanel::show_tables(const TablesPtr& tables) {
  clear();
  if (ReportChart::is_for(*tables)) {
    chart_ = new ReportChart(tables);
    connect(chart_, &ReportChart::chosen, this, &ReportPanel::dot_chosen);
    content_->addWidget(chart_);
  }
  for (std::size_t i = 0; i < tables->size(); ++i) {
    const cli::Table& table = (*tables)[i];
    content_->addWidget(
        new QLabel(QStringLiteral("<b>%1</b>").arg(QString::fromStdString(table.title).toHtmlEscaped())));
    if (!table.rows.empty()) content_->addWidget(add_table(tables, i));
    for (const std::string& note : table.notes) {
      auto* label = new QLabel(QString::fromStdString(note));
      label->setWordWrap(true);
      label->setTextInteractionFlags(Qt::TextSelectableByMouse);
      content_->addWidget(label);
    }
  }
  content_->addStretch(1);
}

QTableView* ReportPanel::add_table(const TablesPtr& tables, std::size_t index) {
  auto* view = new QTableView;
  auto* model = new ReportModel(view);
  auto* filter = new ReportFilter(view);
  model->set_table(tables, index);
  filter->setSourceModel(model);
  view->setModel(filter);
  view->setSortingEnabled(true);
  view->sortByColumn(-1, Qt::AscendingOrder);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setAlternatingRowColors(true);
  view->setShowGrid(false);
  view->setWordWrap(false);
  view->setAccessibleName(QString::fromStdString((*tables)[index].title));
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 6);
  view->horizontalHeader()->setHighlightSections(false);
  view->resizeColumnsToContents();
  for (int column = 0; column < filter->columnCount(); ++column)
    view->setColumnWidth(column, std::min(view->columnWidth(column) + 8, kWidestColumn));
  const cli::Table& table = (*tables)[index];
  const bool ends_in_words = !table.rows.empty() && !table.rows.front().cells.empty() &&
                             std::holds_alternative<std::string>(table.rows.front().cells.back().value);
  view->horizontalHeader()->setStretchLastSection(ends_in_words);
  const int rows = std::min(model->rowCount(), kMostVisibleRows);
  view->setFixedHeight(view->horizontalHeader()->sizeHint().height() +
                       rows * view->verticalHeader()->defaultSectionSize() + 6);
  connect(filter_, &QLineEdit::textChanged, filter, &QSortFilterProxyModel::setFilterFixedString);
  connect(view, &QTableView::activated, this, [this, filter](const QModelIndex& chosen) {
    QMap<QString, QString> cells;
    for (int column = 0; column < filter->columnCount(); ++column)
      cells.insert(filter->headerData(column, Qt::Horizontal).toString(),
                   filter->index(chosen.row(), column).data(ReportModel::kPlain).toString());
    Q_EMIT row_chosen(name_, cells, filter->headerData(chosen.column(), Qt::Horizontal).toString());
  });
  views_.push_back(view);
  return view;
}

bool ReportPanel::select_row(const QString& text) {
  for (QTableView* view : views_) {
    for (int row = 0; row < view->model()->rowCount(); ++row) {
      for (int column = 0; column < view->model()->columnCount(); ++column) {
        if (view->model()->index(row, column).data().toString() != text) continue;
        view->selectRow(row);
        view->scrollTo(view->model()->index(row, column));
        return true;
      }
    }
  }
  return false;
}

bool ReportPanel::select_row(const QString& column, const QString& value) {
  for (QTableView* view : views_) {
    for (int i = 0; i < view->model()->columnCount(); ++i) {
      if (view->model()->headerData(i, Qt::Horizontal).toString() != column) continue;
      for (int row = 0; row < view->model()->rowCount(); ++row) {
        const QModelIndex cell = view->model()->index(row, i);
        if (cell.data(ReportModel::kPlain).toString() != value) continue;
        view->selectRow(row);
        view->scrollTo(cell);
        return true;
      }
    }
  }
  return false;
}

QString ReportPanel::selected_csv() const {
  QString text;
  bool any = std::any_of(views_.begin(), views_.end(),
                         [](const QTableView* view) { return view->selectionModel()->hasSelection(); });
  for (const QTableView* view : views_) {
    const auto* filter = qobject_cast<const ReportFilter*>(view->model());
    std::vector<int> rows;
    for (int row = 0; row < filter->rowCount(); ++row) {
      if (any && !view->selectionModel()->isRowSelected(row)) continue;
      rows.push_back(filter->mapToSource(filter->index(row, 0)).row());
    }
    if (rows.empty()) continue;
    if (!text.isEmpty()) text += QLatin1Char('\n');
    text += model_of(view)->csv(rows);
  }
  return text;
}

void ReportPanel::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(selected_csv());
    return;
  }
  QWidget::keyPressEvent(event);
}

}  // namespace tferry::gui
