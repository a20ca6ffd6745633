#pragma once

#include "gui/session/event_facts.hpp"
#include "gui/session/plan_lane.hpp"

#include <QString>

namespace tferry::gui {

/// Of a movement by the runtime (table `swap`): what it moved, by how much it was late, and when the plan
/// wanted it. Throws trace::SessionError.
EventFacts actual_move_facts(trace::Session& session, const Overview& overview, EventRef event);
/// Of a planned movement in one iteration: what for, and what became of it. Throws trace::SessionError.
EventFacts planned_move_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                              EventRef event);

/// Of a wait for memory (table `gate`): who waited, and for which fetches. Throws trace::SessionError.
EventFacts wait_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                      EventRef event);

/// "2 ms after it was planned", "1 ms before ...", "when it was planned".
QString than_planned(std::int64_t later_ns);

}  // namespace tferry::gui
