#include "gui/window/details_panel.hpp"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>

namespace tferry::gui {
namespace {

/// Narrow no-break spaces stand between figures and units; plain ones are better known elsewhere.
QString field(QString text) {
  text.replace(QChar(0x202F), QLatin1Char(' '));
  const bool quoted =
      text.contains(QLatin1Char(',')) || text.contains(QLatin1Char('"')) || text.contains(QLatin1Char('\n'));
  return quoted ? QLatin1Char('"') + text.replace(QLatin1Char('"'), QLatin1String("\"\"")) + QLatin1Char('"')
                : text;
}

}  // namespace

DetailsPanel::DetailsPanel(QWidget* parent) : QTableWidget(0, 2, parent) {
  horizontalHeader()->hide();
  horizontalHeader()->setStretchLastSection(true);
  verticalHeader()->hide();
  setShowGrid(false);
  setTabKeyNavigation(false);  // Tab goes on, arrows move
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setAccessibleName(QStringLiteral("The selected event"));
  horizontalHeader()->setAccessibleName(QStringLiteral("Columns of the selected event"));
  verticalHeader()->setAccessibleName(QStringLiteral("Rows of the selected event"));
  connect(this, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) {
    const QVariant index = item->data(Qt::UserRole);
    if (index.isValid()) Q_EMIT relation_chosen(index.toInt());
  });
}

void DetailsPanel::show_event(const EventFacts& facts, const std::vector<Relation>& relations) {
  clearSpans();
  setRowCount(0);
  if (facts.title.isEmpty()) return;
  setRowCount(static_cast<int>(facts.facts.size() + relations.size()) + 1);
  int row = 0;
  for (const auto& [name, value] : facts.facts) {
    setItem(++row, 0, new QTableWidgetItem(name));
    setItem(row, 1, new QTableWidgetItem(value));
    item(row, 1)->setToolTip(value);
  }
  for (std::size_t i = 0; i < relations.size(); ++i) {
    setItem(++row, 0, new QTableWidgetItem(QStringLiteral("→")));
    auto* there = new QTableWidgetItem(relations[i].text);
    there->setData(Qt::UserRole, static_cast<int>(i));
    there->setToolTip(relations[i].text + QStringLiteral("\nEnter or a double click goes there"));
    setItem(row, 1, there);
  }
  resizeColumnToContents(0);  // before the title, which is longer and spans both
  auto* title = new QTableWidgetItem(facts.title);
  title->setToolTip(facts.title);
  QFont bold = title->font();
  bold.setBold(true);
  title->setFont(bold);
  setSpan(0, 0, 1, 2);
  setItem(0, 0, title);
  resizeRowsToContents();
}

QString DetailsPanel::csv() const {
  QString text;
  for (int row = 0; row < rowCount(); ++row) {
    const QTableWidgetItem* name = item(row, 0);
    const QTableWidgetItem* value = item(row, 1);
    if (row == 0) {
      text += QStringLiteral("name,value\nevent,") + field(name ? name->text() : QString());
    } else {
      const bool related = value && value->data(Qt::UserRole).isValid();
      text += (related ? QStringLiteral("related") : field(name ? name->text() : QString())) +
              QLatin1Char(',') + field(value ? value->text() : QString());
    }
    text += QLatin1Char('\n');
  }
  return text;
}

void DetailsPanel::copy() const { QApplication::clipboard()->setText(csv()); }

void DetailsPanel::keyPressEvent(QKeyEvent* event) {
  event->matches(QKeySequence::Copy) ? copy() : QTableWidget::keyPressEvent(event);
}

void DetailsPanel::paintEvent(QPaintEvent* event) {
  QTableWidget::paintEvent(event);
  if (rowCount() > 0) return;
  QPainter painter(viewport());
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(
      viewport()->rect().adjusted(12, 12, -12, -12), Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
      QStringLiteral("No event is selected. Click one, or choose a lane with ↑ ↓ and press Enter."));
}

void DetailsPanel::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  menu.addAction(QStringLiteral("Copy as CSV"), QKeySequence(QKeySequence::Copy), this, [this] { copy(); });
  menu.exec(event->globalPos());
}

}  // namespace tferry::gui
