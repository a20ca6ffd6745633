#include "gui/window/report_panel.hpp"

#include "gui/model/report_model.hpp"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollArea>
#include <QToolButton>

#include <algorithm>

namespace tferry::gui {
ReportPanel::ReportPanel(QString name, QWidget* parent)
    : QWidget(parent), name_(std::move(name)), filter_(new QLineEdit) {
  filter_->setPlaceholderText(QStringLiteral("Filter rows"));
  filter_->setAccessibleName(QStringLiteral("Filter rows of ") + name_);
  filter_->setClearButtonEnabled(true);
  auto* copy = new QToolButton;
  copy->setText(QStringLiteral("Copy as CSV"));
  copy->setToolTip(QStringLiteral("The selected rows, else all (Ctrl+C)"));
  copy->setAccessibleName(QStringLiteral("Copy %1 as CSV").arg(name_));
  connect(copy, &QAbstractButton::clicked, this, &ReportPanel::copy);
  auto* top = new QHBoxLayout;
  top->addWidget(filter_, 1);
  top->addWidget(copy);
  auto* inside = new QWidget;
  content_ = new QVBoxLayout(inside);
  content_->setContentsMargins(0, 0, 4, 0);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);  // Tab goes from the filter to the tables
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
  // Tab goes from the filter to what it filters, from top to bottom.
  QWidget* before = filter_;
  if (chart_) {
    setTabOrder(before, chart_);
    before = chart_;
  }
  for (ReportTable* view : views_) {
    setTabOrder(before, view);
    before = view;
  }
}

ReportTable* ReportPanel::add_table(const TablesPtr& tables, std::size_t index) {
  auto* view = new ReportTable(name_, tables, index);
  view->filter(filter_->text());
  connect(filter_, &QLineEdit::textChanged, view, &ReportTable::filter);
  connect(view, &ReportTable::row_chosen, this,
          [this](const QMap<QString, QString>& cells, const QString& column) {
            Q_EMIT row_chosen(name_, cells, column);
          });
  connect(view, &ReportTable::explanation_wanted, this, &ReportPanel::explanation_wanted);
  connect(view, &ReportTable::copy_wanted, this, &ReportPanel::copy);
  views_.push_back(view);
  return view;
}

void ReportPanel::copy() const { QApplication::clipboard()->setText(selected_csv()); }

bool ReportPanel::select_row(const QString& text) {
  for (ReportTable* view : views_) {
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
  for (ReportTable* view : views_) {
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
  const bool any = std::any_of(views_.begin(), views_.end(), [](const ReportTable* view) {
    return view->selectionModel()->hasSelection();
  });
  QString text;
  for (const ReportTable* view : views_) {
    const QString part = view->csv(any);
    if (!text.isEmpty() && !part.isEmpty()) text += QLatin1Char('\n');
    text += part;
  }
  return text;
}

void ReportPanel::keyPressEvent(QKeyEvent* event) {
  event->matches(QKeySequence::Copy) ? copy() : QWidget::keyPressEvent(event);
}

}  // namespace tferry::gui
