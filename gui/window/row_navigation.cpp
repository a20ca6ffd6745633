#include "gui/window/row_navigation.hpp"

#include <QRegularExpression>

#include <algorithm>
#include <array>

namespace tferry::gui {
namespace {

// As the session names them: enumerations copy_kind and stream_owner.
constexpr std::array kDirections = {"unknown",          "host_to_device", "device_to_host",
                                    "device_to_device", "host_to_host",   "peer"};
constexpr std::array kOwners = {"unknown", "program", "runtime"};

template <std::size_t kSize>
std::int64_t number_of(const std::array<const char*, kSize>& names, const QString& name) {
  for (std::size_t i = 0; i < kSize; ++i) {
    if (name == QLatin1String(names[i])) return static_cast<std::int64_t>(i);
  }
  return -1;
}

bool go_to_contention(SessionView& view, const ChosenRow& row) {
  const QString start = row.cells.value(QStringLiteral("after start"));
  if (!start.isEmpty()) {
    view.go_to_window(view.overview()->origin_ns + start.toLongLong());
    return true;
  }
  const bool matrix = row.report == QLatin1String("matrix");
  const QString gpu = row.cells.value(matrix ? QStringLiteral("lost by") : QStringLiteral("gpu"));
  const bool any = row.column == QLatin1String("lost by") || row.column == QLatin1String("in all");
  QString whom = matrix ? (any ? QString() : row.column) : row.cells.value(QStringLiteral("lost to"));
  whom = whom.section(QLatin1Char(','), 0, 0);
  if (!matrix && !whom.startsWith(QLatin1String("GPU"))) whom.clear();  // told in other words there
  view.go_to_worst_window(gpu.section(QLatin1Char(' '), -1).toLongLong(), whom);
  return true;
}

}  // namespace

int copies_lane(const Overview& overview, const ChosenRow& row) {
  const std::int64_t direction = number_of(kDirections, row.cells.value(QStringLiteral("direction")));
  const std::int64_t owner = number_of(kOwners, row.cells.value(QStringLiteral("whose")));
  const QString gpu = QStringLiteral("GPU %1 ").arg(row.cells.value(QStringLiteral("gpu")));
  for (const LaneGroup& group : overview.groups) {
    if (!group.title.startsWith(gpu)) continue;
    for (const int index : group.lanes) {
      const Lane& lane = overview.lanes[static_cast<std::size_t>(index)];
      if (lane.kind == LaneKind::kCopies && lane.key == direction && lane.owner == owner) return index;
    }
  }
  return -1;
}

bool go_to_row(SessionView& view, const ChosenRow& row) {
  if (!view.overview()) return false;
  if (row.report == QLatin1String("contention") || row.report == QLatin1String("matrix"))
    return go_to_contention(view, row);
  if (row.report == QLatin1String("transfers")) {
    const int lane = copies_lane(*view.overview(), row);
    if (lane >= 0) view.go_to_first(lane);
    return lane >= 0;
  }
  QString name = row.cells.value(QStringLiteral("name"), row.cells.value(QStringLiteral("operation")));
  if (row.report == QLatin1String("memory")) {
    view.timeline()->show_memory_peak();
    view.timeline()->show_tensor(name);
    return true;
  }
  const QString tensor = row.cells.value(QStringLiteral("tensor"));
  if (!tensor.isEmpty() && view.timeline()->show_tensor(tensor)) return true;
  if (row.report == QLatin1String("tensors") || name.isEmpty() || name == QLatin1String("-")) return false;
  view.search(QLatin1Char('^') + QRegularExpression::escape(name) + QLatin1Char('$'));
  return true;
}

}  // namespace tferry::gui
