#include "gui/window/report_chart.hpp"

#include "gui/time/time_text.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <numeric>

namespace tferry::gui {
namespace {

constexpr double kReach = 14;  // pixels from a dot that still mean it
constexpr double kRing = 9;    // around the dot that the keys are at

bool is_curve(const std::vector<cli::Table>& tables) { return tables.front().name == "curve"; }

}  // namespace

bool ReportChart::is_for(const std::vector<cli::Table>& tables) {
  if (tables.empty() || (tables.front().name != "curve" && tables.front().name != "waterfall")) return false;
  return std::any_of(tables.begin(), tables.end(),
                     [](const cli::Table& table) { return !table.rows.empty(); });
}

ReportChart::ReportChart(TablesPtr tables, QWidget* parent) : QWidget(parent), tables_(std::move(tables)) {
  setFixedHeight(is_curve(*tables_) ? 205 : 190);
  setMinimumWidth(480);
  if (is_curve(*tables_)) {
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
  }
  setAccessibleName(is_curve(*tables_) ? QStringLiteral("Step time against budget")
                                       : QStringLiteral("Parts of an iteration's time"));
  setAccessibleDescription(QStringLiteral("The table below has the same figures"));
}

void ReportChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = palette().color(QPalette::Base).lightness() < 128 ? Theme::dark_one() : Theme::light();
  if (is_curve(*tables_)) {
    dots_ = paint_curve(painter, theme, *tables_, rect());
    if (hasFocus() && current_ >= 0 && current_ < static_cast<int>(dots_.size())) {
      painter.setPen(QPen(theme.accent, 2));
      painter.setBrush(Qt::NoBrush);
      painter.drawEllipse(dots_[static_cast<std::size_t>(current_)].place, kRing, kRing);
    }
  } else {
    paint_waterfall(painter, theme, tables_->front(), rect());
  }
}

void ReportChart::mousePressEvent(QMouseEvent* event) {
  const auto distance = [&](const ChartDot& dot) { return QLineF(dot.place, event->position()).length(); };
  const auto nearest =
      std::min_element(dots_.begin(), dots_.end(),
                       [&](const ChartDot& a, const ChartDot& b) { return distance(a) < distance(b); });
  if (nearest == dots_.end() || distance(*nearest) > kReach) return;
  choose(*nearest);
}

/// A point of the line with a stored plan beside it means that plan.
void ReportChart::choose(const ChartDot& dot) {
  std::int64_t plan = dot.plan;
  for (const ChartDot& other : dots_) {
    if (plan == 0 && other.plan != 0 && QLineF(other.place, dot.place).length() <= kReach) plan = other.plan;
  }
  Q_EMIT chosen(plan, dot.budget, dot.time);
}

void ReportChart::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(dots_.size());
  const bool left = event->key() == Qt::Key_Left, right = event->key() == Qt::Key_Right;
  if (count == 0) return QWidget::keyPressEvent(event);
  if (left || right) {
    // From left to right on the picture, whatever their order in the tables.
    std::vector<int> order(dots_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
      return dots_[static_cast<std::size_t>(a)].place.x() < dots_[static_cast<std::size_t>(b)].place.x();
    });
    const auto place = std::find(order.begin(), order.end(), current_);
    const auto at = place == order.end() ? (right ? -1 : count) : static_cast<int>(place - order.begin());
    current_ = order[static_cast<std::size_t>(std::clamp(at + (right ? 1 : -1), 0, count - 1))];
    const ChartDot& dot = dots_[static_cast<std::size_t>(current_)];
    setAccessibleDescription(
        QStringLiteral("%1 under %2")
            .arg(duration_text(static_cast<std::int64_t>(dot.time)), bytes_text(dot.budget)));
    update();
  } else if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && current_ >= 0 &&
             current_ < count) {
    choose(dots_[static_cast<std::size_t>(current_)]);
  } else {
    QWidget::keyPressEvent(event);
  }
}

}  // namespace tferry::gui
