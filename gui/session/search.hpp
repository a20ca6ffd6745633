#pragma once

#include "gui/session/overview.hpp"

#include <QString>

#include <cstdint>
#include <vector>

namespace tferry::gui {

/// Names that a pattern matches.
struct SearchResult {
  QString pattern;
  QString error;                    ///< why the pattern is none; empty: it is one
  std::vector<std::int64_t> names;  ///< string ids
};

/// An event and where it lies; id 0: there is none.
struct FoundEvent {
  EventRef event;
  int lane = -1;
  TimeRange range;
  std::int64_t name_id = 0;  ///< 0: it has none
};

/// A regular expression (PCRE, any case) against kernels and markers by their readable names.
SearchResult search_names(const NameBook& names, const QString& pattern);

/// The next (step 1) or previous (-1) kernel or marker with one of these names after a time; in a lane, or
/// with -1 in any. One look-up a name in sessions with an index by name. Throws trace::SessionError.
FoundEvent next_named(trace::Session& session, const Overview& overview,
                      const std::vector<std::int64_t>& names, int lane, std::int64_t time, int step);
/// The same for whatever a lane holds.
FoundEvent next_in_lane(trace::Session& session, const Overview& overview, int lane, std::int64_t time,
                        int step);
/// Where an event lies.
FoundEvent found_event(trace::Session& session, const Overview& overview, EventRef event);

}  // namespace tferry::gui
