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
constexpr int kLabel = 17;  // height of a line's label
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kDot = 4;

/// The next of 1, 2 or 5 times a power of ten.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(value, 1e-9))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

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
  const QRect& inside() const { return inside_; }
  void draw(QPainter& painter, const Theme& theme) const {
    const double time_step = round_step(most_ / kTicks);
    for (double time = 0; time <= most_; time += time_step) {
      const QPointF left = at(from_, time);
      painter.setPen(theme.grid);
      painter.drawLine(left, at(to_, time));
      painter.setPen(theme.muted);
      painter.drawText(QRectF(left.x() - kLeft, left.y() - 9, kLeft - 8, 18),
                       Qt::AlignRight | Qt::AlignVCenter, duration_text(static_cast<std::int64_t>(time)));
    }
    const double unit = to_ - from_ > 2 * kGiB ? kGiB : kGiB / 1024;
    const double budget_step = round_step((to_ - from_) / kTicks / unit) * unit;
    painter.setPen(theme.muted);
    for (double budget = std::ceil(from_ / budget_step) * budget_step; budget <= to_; budget += budget_step) {
      const QPointF below = at(budget, 0);
      painter.drawLine(below, below + QPointF(0, 3));
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

/// Labels right of the lines' ends, moved apart where lines end close together, none below the axis.
void draw_labels(QPainter& painter, const QRect& inside,
                 std::vector<std::pair<QPointF, std::pair<QString, QColor>>> labels) {
  std::stable_sort(labels.begin(), labels.end(),
                   [](const auto& a, const auto& b) { return a.first.y() < b.first.y(); });
  std::vector<double> tops;
  for (const auto& [place, label] : labels)
    tops.push_back(std::max(place.y() - 9, tops.empty() ? 0.0 : tops.back() + kLabel));
  double free_to = inside.bottom() + 1;
  for (std::size_t i = tops.size(); i-- > 0;) {
    tops[i] = std::min(tops[i], free_to - kLabel);
    free_to = tops[i];
  }
  for (std::size_t i = 0; i < tops.size(); ++i) {
    painter.setPen(labels[i].second.second);
    painter.drawText(QRectF(inside.right() + 8, tops[i], kRight, kLabel), Qt::AlignLeft | Qt::AlignVCenter,
                     labels[i].second.first);
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
      const QString text =
          QStringLiteral("%1 %2").arg(run ? QStringLiteral("run") : QStringLiteral("plan")).arg(plan);
      const int width = painter.fontMetrics().horizontalAdvance(text) + 6;
      const QRectF box(place.x() - width / 2.0, place.y() + 9, width, 16);
      QColor veil = theme.background;
      veil.setAlphaF(0.8F);
      painter.fillRect(box, veil);
      painter.drawText(box, Qt::AlignCenter, text);
      dots.push_back({place, plan, *number_of(row, bytes), *number_of(row, time)});
    }
  }
  draw_labels(painter, axes.inside(), std::move(labels));
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
