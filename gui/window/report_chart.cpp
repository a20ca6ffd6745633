#include "gui/window/report_chart.hpp"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace tferry::gui {
namespace {

constexpr double kReach = 14;  // pixels from a dot that still mean it

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
  setAccessibleName(is_curve(*tables_) ? QStringLiteral("Step time against budget")
                                       : QStringLiteral("Parts of an iteration's time"));
  setAccessibleDescription(QStringLiteral("The table below has the same figures"));
}

void ReportChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = palette().color(QPalette::Base).lightness() < 128 ? Theme::dark_one() : Theme::light();
  if (is_curve(*tables_)) {
    dots_ = paint_curve(painter, theme, *tables_, rect());
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
  // A point of the line with a stored plan beside it means that plan.
  std::int64_t plan = nearest->plan;
  for (const ChartDot& dot : dots_) {
    if (plan == 0 && dot.plan != 0 && distance(dot) <= kReach) plan = dot.plan;
  }
  Q_EMIT chosen(plan, nearest->budget, nearest->time);
}

}  // namespace tferry::gui
