#pragma once

#include "gui/session/overview.hpp"

#include <QString>

#include <utility>
#include <vector>

namespace tferry::gui {

/// Everything that the session knows about one event, as a person reads it.
struct EventFacts {
  EventRef event;
  QString title;
  QString tensor;                                  ///< that it is about, as reports name it; empty: none
  std::vector<std::pair<QString, QString>> facts;  ///< name, value; what is unknown is left out
};

/// Without facts for an event that is not there. Throws trace::SessionError.
EventFacts event_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                       EventRef event);

}  // namespace tferry::gui
