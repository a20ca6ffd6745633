#include "gui/session/contention_lanes.hpp"

#include <array>

namespace tferry::gui {
namespace {

struct Resource {
  const char* name;   ///< in table `contention`
  const char* words;  ///< for people
};

// In the order of the numbers that kContentionLane gives them.
constexpr std::array kResources = {
    Resource{"link", "a link"},
    Resource{"host_memory", "host memory"},
    Resource{"link_or_host_memory", "a link or host memory"},
    Resource{"copy_engine", "the copy engine"},
    Resource{"pageable", "pageable memory"},
    Resource{"other_process", "another process"},
    Resource{"unexplained", "unexplained"},
};

}  // namespace

const char* const kContentionLane =
    "0, 0, coalesce(link_id, 0), CASE WHEN link_id IS NOT NULL THEN 0 WHEN resource = 'host_memory' THEN 1 "
    "WHEN "
    "resource = 'link_or_host_memory' THEN 2 WHEN resource = 'copy_engine' THEN 3 WHEN resource = 'pageable' "
    "THEN 4 WHEN resource = 'other_process' THEN 5 ELSE 6 END";

const char* const kLostWhileRunning = "resource <> 'copy_engine_queue'";

QString resource_words(const std::string& resource) {
  for (const Resource& known : kResources) {
    if (resource == known.name) return QString::fromUtf8(known.words);
  }
  return QString::fromStdString(resource);
}

void title_contention(trace::Session& session, Lane& lane) {
  lane.title = QStringLiteral("Contention, ");
  if (lane.key != 0) {
    const auto link = session.first<trace::LinkRow>("WHERE id = ?", lane.key);
    lane.title += link ? QStringLiteral("%1 – %2").arg(QString::fromStdString(link->upstream),
                                                       QString::fromStdString(link->downstream))
                       : QStringLiteral("link %1").arg(lane.key);
  } else {
    const auto resource = static_cast<std::size_t>(lane.owner);
    lane.title += QString::fromUtf8(kResources[resource < kResources.size() ? resource : 6].words);
  }
  lane.hint = QStringLiteral(
      "Time that transfers lost there, all GPUs together; the stronger, the more of the time. Select a "
      "window to "
      "see who lost how much to whom.");
}

}  // namespace tferry::gui
