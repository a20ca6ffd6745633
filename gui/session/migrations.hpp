#pragma once

#include "gui/session/event_facts.hpp"
#include "gui/session/relations.hpp"

#include <vector>

namespace tferry::gui {

/// Page migrations are two rows of their lane: pages that move, and below them faults and what else the
/// driver did about pages.
inline constexpr int kMigrationRows = 2;

/// What a unified-memory event (table `um_event`) tells of itself. Throws trace::SessionError.
EventFacts um_facts(trace::Session& session, const Overview& overview, EventRef event);

/// An event that another one is tied to, and why; where it lies is not looked up.
struct MigrationLink {
  Relation::Kind kind = Relation::Kind::kCause;
  EventRef event;
  QString text;
};

/// Of a migration: the faults at its addresses that brought it about, the kernel that ran or came next, and
/// for what came in meanwhile it made room. Of a fault: the kernel that it held up, and the migrations that
/// brought its page. Nothing is guessed from time alone but kernels and room. Throws trace::SessionError.
std::vector<MigrationLink> migration_links(trace::Session& session, const NameBook& names, EventRef event);

}  // namespace tferry::gui
