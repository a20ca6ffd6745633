#include "gui/session/relations.hpp"

#include "gui/session/contention_lanes.hpp"
#include "gui/session/lane_counts.hpp"
#include "gui/session/migrations.hpp"
#include "gui/session/move_facts.hpp"
#include "gui/session/moves_lane.hpp"
#include "gui/time/time_text.hpp"

#include <optional>
#include <string>

namespace tferry::gui {
namespace {

constexpr std::int64_t kMost = 12;

class Relations {
 public:
  Relations(trace::Session& session, const NameBook& names, const Overview& overview)
      : session_(session), names_(names), overview_(overview) {}

  std::vector<Relation> of(EventRef event) {
    switch (event.table) {
      case EventTable::kMemcpy:
        copy(event.id);
        break;
      case EventTable::kSwap:
        if (const auto swap = session_.first<trace::SwapRow>("WHERE id = ?", event.id)) {
          planned(*swap);
          if (swap->memcpy_id) copy(*swap->memcpy_id);
        }
        break;
      case EventTable::kPlanAction:
        actual(event.id);
        break;
      case EventTable::kUmEvent:
        for (const MigrationLink& link : migration_links(session_, names_, event))
          add(link.kind, link.event, link.text);
        break;
      case EventTable::kContention:
        window(event.id);
        break;
      default:
        break;
    }
    return std::move(found_);
  }

 private:
  void add(Relation::Kind kind, EventRef event, const QString& text) {
    FoundEvent where = found_event(session_, overview_, event);
    if (where.lane >= 0) found_.push_back({kind, where, text});
  }

  void planned(const trace::SwapRow& swap) {
    const std::int64_t plan = shown_plan(overview_, swap.process_id, swap.device_id.value_or(0));
    if (plan == 0 || !swap.allocation_id) return;
    const TimeRange ran = found_event(session_, overview_, {EventTable::kSwap, swap.id}).range;
    const auto move =
        PlanTimes(session_, plan).nearest(*swap.allocation_id, swap.kind, swap.offset, ran.from_ns);
    if (move)
      add(Relation::Kind::kPlanned, {EventTable::kPlanAction, move->id()},
          QStringLiteral("was done ") + than_planned(ran.to_ns - move->end_ns));
  }

  void actual(std::int64_t id) {
    const std::int64_t plan =
        session_.integer("SELECT plan_id FROM plan_action WHERE id = " + std::to_string(id & 0xffffffff));
    const auto move = PlanTimes(session_, plan).find(id);
    if (!move) return;
    const EventRef swap{EventTable::kSwap, actual_move(session_, *move)};
    const FoundEvent where = found_event(session_, overview_, swap);
    if (where.lane < 0) return;
    const std::int64_t late = late_ns(session_, swap.id);
    add(Relation::Kind::kActual, swap,
        QStringLiteral("was done ") + than_planned(where.range.to_ns - move->end_ns) +
            (late > 0 ? QStringLiteral("; an operation waited %1 for it").arg(duration_text(late))
                      : QString()));
  }

  void copy(std::int64_t id) {
    const auto row = session_.first<trace::MemcpyRow>("WHERE id = ?", id);
    if (!row || !row->start_ns || !row->end_ns) return;
    if (const std::int64_t kernel = waiter_of(*row); kernel != 0) add_waiter(kernel, *row->end_ns);
    if (const auto transfer = session_.first<trace::TransferRow>("WHERE memcpy_id = ?", id);
        transfer && transfer->lost_ns.value_or(0) > 0)
      add_culprits(*transfer);
  }

  std::int64_t one(const std::string& sql, std::int64_t a, std::int64_t b, std::int64_t c) {
    std::int64_t id = 0;
    select(session_, sql, [&](trace::Statement& row) { id = row.integer(0); }, a, b, c);
    return id;
  }

  std::int64_t waiter_of(const trace::MemcpyRow& copy) {
    if (copy.kind != trace::CopyKind::kHostToDevice && copy.kind != trace::CopyKind::kPeer) return 0;
    std::int64_t allocation = 0, kernel = 0;
    if (const auto swap = session_.first<trace::SwapRow>("WHERE memcpy_id = ?", copy.id)) {
      allocation = swap->allocation_id.value_or(0);
      if (swap->operation)
        kernel = one("SELECT id FROM kernel WHERE process_id = ? AND operation = ? AND start_ns >= ? LIMIT 1",
                     copy.process_id, *swap->operation, *copy.end_ns);
    } else if (copy.operation) {
      allocation =
          one("SELECT coalesce(allocation_id, 0) FROM access WHERE process_id = ? AND operation = ? LIMIT ?",
              copy.process_id, *copy.operation, 1);
    }
    if (kernel == 0 && allocation != 0)
      kernel =
          one("SELECT kernel.id FROM access JOIN kernel USING (process_id, operation) WHERE allocation_id = "
              "? AND "
              "process_id = ? AND kernel.start_ns >= ? ORDER BY kernel.start_ns LIMIT 1",
              allocation, copy.process_id, *copy.end_ns);
    if (kernel == 0)
      kernel = one(
          "SELECT id FROM kernel WHERE process_id = ? AND stream_id = ? AND start_ns >= ? ORDER BY start_ns "
          "LIMIT 1",
          copy.process_id, copy.stream_id.value_or(0), *copy.end_ns);
    return kernel;
  }

  void add_waiter(std::int64_t kernel, std::int64_t done_ns) {
    const auto row = session_.first<trace::KernelRow>("WHERE id = ?", kernel);
    if (!row || !row->start_ns) return;
    const QString name = row->name_id ? names_.brief(*row->name_id) : QStringLiteral("a kernel");
    const QString after = duration_text(*row->start_ns - done_ns);
    // Called before the copy was done: it stood ready. Else it came later of itself.
    const bool waited = row->call_ns && *row->call_ns < done_ns;
    add(Relation::Kind::kWaiter, {EventTable::kKernel, kernel},
        waited ? QStringLiteral("%1 waited for it, and began %2 after").arg(name, after)
               : QStringLiteral("%1 used it next, %2 after").arg(name, after));
  }

  void add_culprits(const trace::TransferRow& victim) {
    struct Other {
      std::int64_t id, overlap;
    };
    std::vector<Other> others;
    select(
        session_,
        "SELECT memcpy_id, min(end_ns, ?1) - max(start_ns, ?2) AS overlap FROM transfer WHERE memcpy_id IS "
        "NOT NULL "
        "AND id <> ?3 AND start_ns < ?1 AND end_ns > ?2 AND (process_id, device_id) IN (SELECT "
        "culprit_process_id, culprit_device_id FROM contention WHERE victim_process_id = ?4 AND "
        "victim_device_id = ?5 AND start_ns < ?1 AND end_ns > ?2 AND resource <> 'copy_engine_queue') "
        "ORDER BY overlap DESC LIMIT ?6",
        [&](trace::Statement& row) { others.push_back({row.integer(0), row.integer(1)}); }, victim.end_ns,
        victim.start_ns, victim.id, victim.process_id, victim.device_id.value_or(0), kMost);
    for (const Other& other : others)
      add(Relation::Kind::kCulprit, {EventTable::kMemcpy, other.id},
          QStringLiteral("slowed by %1, %2 at the same time")
              .arg(side_of(other.id), duration_text(other.overlap)));
  }

  /// "a copy of GPU 1".
  QString side_of(std::int64_t memcpy_id) {
    const std::int64_t gpu =
        session_.integer("SELECT count(*) FROM device WHERE id < (SELECT device_id FROM memcpy WHERE id = " +
                         std::to_string(memcpy_id) + ")");
    return QStringLiteral("a copy of GPU %1").arg(gpu);
  }

  void window(std::int64_t id) {
    const auto row = session_.first<trace::ContentionRow>("WHERE id = ?", id);
    if (!row) return;
    struct Victim {
      std::int64_t id;
      double lost;
    };
    std::vector<Victim> victims;
    select(
        session_,
        "SELECT memcpy_id, lost_ns FROM transfer WHERE memcpy_id IS NOT NULL AND lost_ns > 0 AND start_ns < "
        "? AND "
        "end_ns > ? ORDER BY lost_ns DESC LIMIT ?",
        [&](trace::Statement& found) { victims.push_back({found.integer(0), found.real(1)}); }, row->end_ns,
        row->start_ns, kMost);
    for (const Victim& victim : victims)
      add(Relation::Kind::kVictim, {EventTable::kMemcpy, victim.id},
          QStringLiteral("%1 lost %2")
              .arg(side_of(victim.id), duration_text(static_cast<std::int64_t>(victim.lost))));
  }

  trace::Session& session_;
  const NameBook& names_;
  const Overview& overview_;
  std::vector<Relation> found_;
};

/// The window that a row belongs to.
FoundEvent window_of(trace::Session& session, const Overview& overview, std::int64_t row_id) {
  std::int64_t id = 0;
  select(
      session,
      std::string(
          "SELECT min(other.id) FROM contention AS one JOIN contention AS other ON other.start_ns = "
          "one.start_ns AND other.end_ns = one.end_ns AND other.link_id IS one.link_id AND (one.link_id IS "
          "NOT NULL OR other.resource = one.resource) WHERE one.id = ? AND other.") +
          kLostWhileRunning,
      [&](trace::Statement& row) { id = row.integer(0); }, row_id);
  return id == 0 ? FoundEvent() : found_event(session, overview, {EventTable::kContention, id});
}

}  // namespace

std::vector<Relation> find_relations(trace::Session& session, const NameBook& names, const Overview& overview,
                                     EventRef event) {
  return Relations(session, names, overview).of(event);
}

FoundEvent contention_window(trace::Session& session, const Overview& overview, std::int64_t start_ns) {
  std::int64_t id = 0;
  select(
      session,
      std::string("SELECT coalesce(min(id), 0) FROM contention WHERE start_ns = ? AND ") + kLostWhileRunning,
      [&](trace::Statement& row) { id = row.integer(0); }, start_ns);
  return window_of(session, overview, id);
}

FoundEvent worst_window(trace::Session& session, const Overview& overview, std::int64_t victim_gpu,
                        const QString& culprit) {
  std::int64_t best = 0;
  double lost = 0;
  select(
      session,
      std::string("SELECT min(id), sum(lost_ns), coalesce((SELECT count(*) FROM device WHERE id < "
                  "culprit_device_id), -1), culprit_device_id IS NULL, resource FROM contention WHERE "
                  "(SELECT count(*) "
                  "FROM device WHERE id < victim_device_id) = ? AND ") +
          kLostWhileRunning + " GROUP BY start_ns, end_ns, culprit_device_id, resource",
      [&](trace::Statement& row) {
        const QString whom =
            row.integer(3) != 0 ? resource_words(row.shown(4)) : QStringLiteral("GPU %1").arg(row.integer(2));
        if ((!culprit.isEmpty() && whom != culprit) || row.real(1) <= lost) return;
        best = row.integer(0);
        lost = row.real(1);
      },
      victim_gpu);
  return window_of(session, overview, best);
}

}  // namespace tferry::gui
