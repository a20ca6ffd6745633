#pragma once

#include "gui/session/lane.hpp"
#include "gui/session/name_book.hpp"
#include "gui/time/time_map.hpp"
#include "trace/session.hpp"

#include <QString>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tferry::gui {

/// What the window knows of a session before any event is looked at. Immutable once handed over.
struct Overview {
  QString path;
  QString headline;            ///< GPUs and what ran, for the title
  std::int64_t origin_ns = 0;  ///< times are told after this moment, as reports do: the first process's start
  TimeRange range;             ///< from the first to the last event
  TimeRange shown_first;       ///< of it: where most was recorded
  std::int64_t moves_from_ns = 0;  ///< what the runtime moved before is not known
  std::vector<Lane> lanes;
  std::vector<LaneGroup> groups;
  std::vector<QString> warnings;  ///< what a reader has to know before he believes a figure
  std::int64_t events = 0;
  bool analyzed = false;
  bool has_detail = false;  ///< the session carries its level-of-detail tables
};

using OverviewPtr = std::shared_ptr<const Overview>;

/// Finds out which lanes a session has. `step` is told the share that is done. Throws trace::SessionError.
Overview make_overview(trace::Session& session, const NameBook& names,
                       const std::function<void(double)>& step = {});

}  // namespace tferry::gui
