#include "gui/paint/chart_painter.hpp"

#include "gui/time/time_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace tferry::gui {
namespace {

constexpr int kLeft = 76, kRight = 190, kTop = 12, kBottom = 34;  // room for labels, pixels
constexpr int kTicks = 4;
constexpr double kDot = 4;

/// Maps budgets and times to pixels; times from 0, so that lengths can be compared.
class Axes {
 public:
  Axes(const QRect& area, double budget_from, double budget_to, double time_to)
      : inside_(area.adjusted(kLeft, kTop, -kRight, -kBottom)),
        from_(budget_from * 0.95),
        to_(std::max(budget_to * 1.03, budget_from * 0.95 + 1)),
        most_(std::max(time_to * 1.08, 1.0)) {}

  QPointF at(double budget, double time) const {
    return {inside_.left() + (budget - from_) / (to_ - from_) * inside_.width(),
            inside_.bottom() - time / most_ * inside_.height()};
  }
  void draw(QPainter& painter, const Theme& theme) const {
    for (int i = 0; i <= kTicks; ++i) {
      const double time = most_ * i / kTicks, budget = from_ + (to_ - from_) * i / kTicks;
      const QPointF left = at(from_, time), below = at(budget, 0);
      painter.setPen(theme.grid);
      painter.drawLine(left, at(to_, time));
      painter.setPen(theme.muted);
      painter.drawText(QRectF(left.x() - kLeft, left.y() - 9, kLeft - 8, 18),
                       Qt::AlignRight | Qt::AlignVCenter, duration_text(static_cast<std::int64_t>(time)));
      painter.drawText(QRectF(below.x() - 60, below.y() + 4, 120, 18), Qt::AlignCenter, bytes_text(budget));
    }
    painter.setPen(theme.border);
    painter.drawRect(inside_);
  }

 private:
  QRect inside_;
  double from_, to_, most_;
};

struct Line {
  const char* column;
  const char* label;
  Qt::PenStyle style;
};
constexpr std::array kLines = {Line{"bound", "bound: no plan is faster", Qt::DashLine},
                               Line{"lms", "no plan (lms)", Qt::DotLine},
                               Line{"lookahead", "planned (lookahead)", Qt::SolidLine}};

std::size_t column_of(const cli::Table& table, const char* name) {
  std::size_t column = 0;
  while (column < table.columns.size() && table.columns[column].name != name) ++column;
  return column;
}

std::string text_of(const cli::Row& row, std::size_t column) {
  const auto* text = column < row.cells.size() ? std::get_if<std::string>(&row.cells[column].value) : nullptr;
  return text ? *text : std::string();
}

/// Labels at the right ends of lines, moved apart where lines end close together.
void draw_labels(QPainter& painter, std::vector<std::pair<QPointF, std::pair<QString, QColor>>> labels) {
  std::sort(labels.begin(), labels.end(),
            [](const auto& a, const auto& b) { return a.first.y() < b.first.y(); });
  double free_from = 0;
  for (const auto& [place, label] : labels) {
    const double y = std::max(place.y() - 9, free_from);
    painter.setPen(label.second);
    painter.drawText(QRectF(place.x() + 8, y, kRight, 18), Qt::AlignLeft | Qt::AlignVCenter, label.first);
    free_from = y + 17;
  }
}

}  // namespace

std::optional<double> number_of(const cli::Row& row, std::size_t column) {
  if (column >= row.cells.size()) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&row.cells[column].value))
    return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&row.cells[column].value)) return *real;
  return std::nullopt;
}

std::vector<ChartDot> paint_curve(QPainter& painter, const Theme& theme,
                                  const std::vector<cli::Table>& tables, const QRect& area) {
  double from = 0, to = 0, most = 0;
  for (const cli::Table& table : tables) {
    const std::size_t budget = column_of(table, "budget");
    for (const cli::Row& row : table.rows) {
      const double bytes = number_of(row, budget).value_or(0);
      if (bytes <= 0) continue;
      from = from == 0 ? bytes : std::min(from, bytes);
      to = std::max(to, bytes);
      for (std::size_t i = budget + 1; i < row.cells.size(); ++i)
        most = std::max(most, number_of(row, i).value_or(0));
    }
  }
  painter.fillRect(area, theme.background);
  if (to <= 0 || most <= 0) return {};
  painter.setRenderHint(QPainter::Antialiasing);
  const Axes axes(area, from, to, most);
  axes.draw(painter, theme);
  std::vector<ChartDot> dots;
  std::vector<std::pair<QPointF, std::pair<QString, QColor>>> labels;
  const std::array<QColor, 3> colours = {theme.muted, theme.wait, theme.to_host};
  const cli::Table& curve = tables.front();
  const std::size_t budget = column_of(curve, "budget"), gpu = column_of(curve, "gpu");
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    const std::size_t column = column_of(curve, kLines[line].column);
    QPointF last;
    std::string last_gpu;
    bool first = true;
    for (const cli::Row& row : curve.rows) {
      const auto bytes = number_of(row, budget), time = number_of(row, column);
      if (!bytes || !time) continue;
      const QPointF place = axes.at(*bytes, *time);
      painter.setPen(QPen(colours[line], 2, kLines[line].style));
      if (!first && last_gpu == text_of(row, gpu)) painter.drawLine(last, place);
      if (first) labels.push_back({place, {QString::fromUtf8(kLines[line].label), colours[line]}});
      if (kLines[line].style == Qt::SolidLine) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(colours[line]);
        painter.drawEllipse(place, kDot - 1, kDot - 1);
        dots.push_back({place, 0, *bytes, *time});
      }
      last = place;
      last_gpu = text_of(row, gpu);
      first = false;
    }
  }
  for (std::size_t i = 1; i < tables.size(); ++i) {
    const std::size_t bytes = column_of(tables[i], "budget"), time = column_of(tables[i], "time");
    for (const cli::Row& row : tables[i].rows) {
      if (!number_of(row, bytes) || !number_of(row, time)) continue;
      const QPointF place = axes.at(*number_of(row, bytes), *number_of(row, time));
      const auto plan = static_cast<std::int64_t>(number_of(row, column_of(tables[i], "plan")).value_or(0));
      painter.setPen(QPen(theme.text, 1.6));
      painter.setBrush(theme.background);
      const bool run = text_of(row, 0) == "run";
      run ? painter.drawRect(QRectF(place.x() - kDot, place.y() - kDot, 2 * kDot, 2 * kDot))
          : painter.drawEllipse(place, kDot + 1, kDot + 1);
      painter.drawText(
          QRectF(place.x() - 40, place.y() - 24, 80, 16), Qt::AlignCenter,
          QStringLiteral("%1 %2").arg(run ? QStringLiteral("run") : QStringLiteral("plan")).arg(plan));
      dots.push_back({place, plan, *number_of(row, bytes), *number_of(row, time)});
    }
  }
  draw_labels(painter, std::move(labels));
  return dots;
}

void paint_waterfall(QPainter& painter, const Theme& theme, const cli::Table& table, const QRect& area) {
  painter.fillRect(area, theme.background);
  const std::size_t time = column_of(table, "time"), sum = column_of(table, "adds_up_to");
  double most = 0;
  for (const cli::Row& row : table.rows) most = std::max(most, number_of(row, sum).value_or(0));
  if (most <= 0) return;
  const int count = static_cast<int>(table.rows.size());
  const int height = std::min(26, (area.height() - 8) / std::max(1, count));
  const double scale = (area.width() - 330) / most;
  const std::array<QColor, 7> colours = {theme.memory, theme.to_gpu, theme.wait, theme.peer,
                                         theme.other,  theme.plan,   theme.text};
  for (int i = 0; i < count; ++i) {
    const cli::Row& row = table.rows[static_cast<std::size_t>(i)];
    const QRect line(area.left() + 8, area.top() + 4 + i * height, area.width() - 16, height);
    painter.setPen(theme.text);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, QString::fromStdString(text_of(row, 0)));
    const auto length = number_of(row, time);
    const double end = number_of(row, sum).value_or(0);
    const bool total = i + 1 == count;
    const double begin = total ? 0 : end - length.value_or(0);
    const QRectF bar(line.left() + 130 + std::min(begin, end) * scale, line.top() + 4,
                     std::abs(end - begin) * scale, height - 8);
    if (length) painter.fillRect(bar, total ? colours.back() : colours[static_cast<std::size_t>(i) % 6]);
    const QString text =
        length ? duration_text(static_cast<std::int64_t>(*length)) : QStringLiteral("unknown");
    painter.setPen(theme.muted);
    painter.drawText(QRectF(bar.right() + 8, line.top(), 180, height), Qt::AlignVCenter | Qt::AlignLeft,
                     text);
  }
}

}  // namespace tferry::gui
