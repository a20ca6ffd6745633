#include "gui/session/contention_lanes.hpp"

#include "cli/report/resource_text.hpp"
#include "gui/session/lane_counts.hpp"

#include <QStringList>

#include <array>

namespace tferry::gui {
namespace {

// As table `contention` names them, in the order of the numbers that kContentionLane gives them.
constexpr std::array kResources = {"link",        "host_memory", "link_or_host_memory",
                                   "copy_engine", "pageable",    "other_process",
                                   "unexplained", "numa",        "collective"};

}  // namespace

const char* const kContentionLane =
    "0, 0, coalesce(link_id, 0), CASE WHEN link_id IS NOT NULL THEN 0 WHEN resource = 'host_memory' THEN 1 "
    "WHEN "
    "resource = 'link_or_host_memory' THEN 2 WHEN resource = 'copy_engine' THEN 3 WHEN resource = 'pageable' "
    "THEN 4 WHEN resource = 'other_process' THEN 5 WHEN resource = 'numa' THEN 7 WHEN resource = "
    "'collective' THEN 8 ELSE 6 END";

const char* const kLostWhileRunning = "resource <> 'copy_engine_queue'";

QString resource_words(const std::string& resource) {
  return QString::fromStdString(cli::contended_resource_text(resource));
}

namespace {

/// "GPU 0–3": those behind a link; empty: none that are known.
QString gpus_behind(trace::Session& session, std::int64_t link) {
  QStringList parts;
  std::int64_t first = -1, last = -1;
  const auto close = [&] {
    if (first < 0) return;
    parts << (first == last ? QString::number(first) : QStringLiteral("%1–%2").arg(first).arg(last));
  };
  select(
      session,
      "WITH RECURSIVE below(id) AS (SELECT ? UNION SELECT link.id FROM link JOIN below ON link.parent_id = "
      "below.id) SELECT (SELECT count(*) FROM device AS other WHERE other.id < link.device_id) FROM link "
      "JOIN "
      "below USING (id) WHERE device_id IS NOT NULL ORDER BY 1",
      [&](trace::Statement& row) {
        const std::int64_t gpu = row.integer(0);
        if (last < 0 || gpu != last + 1) {
          close();
          first = gpu;
        }
        last = gpu;
      },
      link);
  close();
  return parts.isEmpty() ? QString() : QStringLiteral("GPU ") + parts.join(QStringLiteral(", "));
}

}  // namespace

void title_contention(trace::Session& session, Lane& lane) {
  lane.title = QStringLiteral("Contention, ");
  QString ends;
  if (lane.key != 0) {
    const auto link = session.first<trace::LinkRow>("WHERE id = ?", lane.key);
    ends = link ? QStringLiteral("%1 – %2").arg(QString::fromStdString(link->upstream),
                                                QString::fromStdString(link->downstream))
                : QStringLiteral("link %1").arg(lane.key);
    const QString gpus = gpus_behind(session, lane.key);
    lane.title += gpus.isEmpty() ? ends : gpus;
    ends += QStringLiteral(". ");
  } else {
    const auto resource = static_cast<std::size_t>(lane.owner);
    lane.title += resource_words(kResources[resource < kResources.size() ? resource : 6]);
  }
  lane.hint =
      ends +
      QStringLiteral(
          "Time that transfers lost there, all GPUs together; the stronger, the more of the time. Select a "
          "window to "
          "see who lost how much to whom.");
}

}  // namespace tferry::gui
