#include "gui/window/theme_choice.hpp"

#include "gui/time/time_text.hpp"

#include <QApplication>
#include <QStringList>

#include <algorithm>
#include <optional>

namespace tferry::gui {
namespace {

std::optional<std::int64_t> first_iteration(const Overview& overview) {
  for (const Lane& lane : overview.lanes) {
    if (lane.kind == LaneKind::kIterations) return lane.first_ns;
  }
  return std::nullopt;
}

}  // namespace

Theme chosen_theme(const QString& name) {
  if (name == QLatin1String("dark")) return Theme::dark_one();
  if (name == QLatin1String("light")) return Theme::light();
  const QPalette palette = QApplication::palette();
  const bool dark =
      palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
  return dark ? Theme::dark_one() : Theme::light();
}

QPalette palette_of(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.axis);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.background);
  palette.setColor(QPalette::AlternateBase, theme.stripe);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.muted);
  palette.setColor(QPalette::Button, theme.group);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::ToolTipBase, theme.axis);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Light, theme.background);
  palette.setColor(QPalette::Mid, theme.border);
  palette.setColor(QPalette::Dark, theme.muted);
  palette.setColor(QPalette::Highlight, theme.dark ? QColor(0x2F, 0x5D, 0x8A) : QColor(0xBF, 0xDB, 0xF7));
  palette.setColor(QPalette::HighlightedText, theme.text);
  for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, theme.muted);
  return palette;
}

QString measure_text(const SessionView& view, TimeRange range) {
  QStringList parts = {duration_text(range.length())};
  const Scene& scene = view.timeline()->scene();
  if (!scene.picture) return parts.front();
  for (std::size_t i = 0; i < scene.picture->slices.size(); ++i) {
    const Lane& lane = scene.overview->lanes[i];
    if (lane.kind != LaneKind::kStream && lane.kind != LaneKind::kCopies) continue;
    double busy = 0, bytes = 0;
    for (const Item& item : scene.picture->slices[i]->items) {
      const auto inside =
          static_cast<double>(std::min(item.end_ns, range.to_ns) - std::max(item.start_ns, range.from_ns));
      if (inside <= 0) continue;
      busy += inside * static_cast<double>(item.busy);
      bytes += static_cast<double>(item.bytes) * inside /
               static_cast<double>(std::max<std::int64_t>(1, item.end_ns - item.start_ns));
    }
    if (busy <= 0) continue;
    parts << lane.title + (lane.kind == LaneKind::kCopies
                               ? QStringLiteral(": ") + bytes_text(bytes)
                               : QStringLiteral(": %1 % busy")
                                     .arg(busy / static_cast<double>(range.length()) * 100, 0, 'f', 1));
  }
  return parts.join(QStringLiteral("   ·   "));
}

TimeRange aligned(TimeRange range, const Overview& from, const Overview& to) {
  const auto a = first_iteration(from), b = first_iteration(to);
  const std::int64_t shift = a && b ? *b - *a : to.range.from_ns - from.range.from_ns;
  return {range.from_ns + shift, range.to_ns + shift};
}

}  // namespace tferry::gui
