#pragma once

#include "gui/session/overview.hpp"
#include "gui/session/search.hpp"

#include <QString>

#include <cstdint>
#include <vector>

namespace tferry::gui {

/// Another event that explains a selected one. The timeline draws an arrow to it.
struct Relation {
  enum class Kind {
    kWaiter,   ///< the kernel that could not begin, or go on, before the transfer was done
    kCulprit,  ///< a transfer that ran at the same time on something shared, and slowed the selected one
    kVictim,   ///< a transfer that lost time in the selected window of contention
    kPlanned,  ///< what the plan wanted, of a movement of the runtime
    kActual,   ///< what became of it, of a planned movement
    kCause,    ///< a page fault that brought a migration about
    kEffect    ///< a migration that a page fault brought about, or made room for
  };
  Kind kind = Kind::kWaiter;
  FoundEvent event;
  QString text;  ///< what it is, in a few words
};

/// What became of a copy, a movement of the runtime or of a plan, a page migration or fault
/// (migrations.hpp), or a window of contention; for other events none.
///
/// The waiter is the operation on whose behalf the runtime fetched, else the first kernel after the copy that
/// may touch the same allocation, else the next kernel of its stream. Culprits are transfers whose side took
/// time from the selected one's side, by table `contention`, and that overlap it; by overlap, at most a
/// dozen. Throws trace::SessionError.
std::vector<Relation> find_relations(trace::Session& session, const NameBook& names, const Overview& overview,
                                     EventRef event);

/// The window of contention that starts then, and the one in which one GPU (its number) lost most to another
/// (`culprit` as the matrix names it: "GPU 1", "pageable memory", ...; empty: to whomever). Id 0: there is
/// none.
FoundEvent contention_window(trace::Session& session, const Overview& overview, std::int64_t start_ns);
FoundEvent worst_window(trace::Session& session, const Overview& overview, std::int64_t victim_gpu,
                        const QString& culprit);

}  // namespace tferry::gui
