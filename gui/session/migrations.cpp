#include "gui/session/migrations.hpp"

#include "gui/session/lane_counts.hpp"
#include "gui/time/time_text.hpp"

#include <array>
#include <string>

namespace tferry::gui {
namespace {

using trace::UmEventKind;

constexpr std::int64_t kMostLinks = 8;
constexpr std::int64_t kFaultToMove = 50'000'000;        // ns that the driver may take to serve a fault
constexpr std::int64_t kLongestKernel = 10'000'000'000;  // looked back so far

constexpr std::array kTitles = {"Unified memory",
                                "Page fault of the GPU",
                                "Page fault of the CPU",
                                "Page migration to the GPU",
                                "Page migration to the host",
                                "Page migration between GPUs",
                                "Thrashing pages",
                                "Throttled to end thrashing",
                                "Mapped where it lies"};
// CUpti_ActivityUnifiedMemoryMigrationCause.
constexpr std::array kCauses = {
    "unknown",  "the program asked for it",  "coherence: the other side touches it",
    "prefetch", "eviction: room was needed", "access counters"};

class Links {
 public:
  Links(trace::Session& session, const NameBook& names) : session_(session), names_(names) {}

  std::vector<MigrationLink> of(EventRef event) {
    const auto row = session_.first<trace::UmEventRow>("WHERE rowid = ?", event.id);
    if (!row) return {};
    const std::int64_t device = row->destination_device_id.value_or(row->source_device_id.value_or(0));
    switch (row->kind) {
      case UmEventKind::kGpuFault:
        kernel(*row, device, true);
        moved(*row, "kind IN (3, 5)");
        break;
      case UmEventKind::kCpuFault:
        moved(*row, "kind = 4");
        break;
      case UmEventKind::kMigrationToDevice:
      case UmEventKind::kMigrationPeer:
        kernel(*row, device, faults(*row, "kind = 1"));
        break;
      case UmEventKind::kMigrationToHost:
        if (!faults(*row, "kind = 2")) made_room(*row);
        break;
      default:
        break;
    }
    return std::move(links_);
  }

 private:
  static std::int64_t end_of(const trace::UmEventRow& row) { return row.end_ns.value_or(row.start_ns); }

  /// The kernel that ran then, which stood still if it faulted; else the next.
  void kernel(const trace::UmEventRow& row, std::int64_t device, bool faulted) {
    std::int64_t id = 0, name = 0, start = 0;
    const auto take = [&](trace::Statement& found) {
      id = found.integer(0);
      name = found.integer(1);
      start = found.integer(2);
    };
    select(
        session_,
        "SELECT id, name_id, start_ns FROM kernel WHERE process_id = ? AND device_id = ? AND start_ns <= ? "
        "AND start_ns > ? AND end_ns >= ? ORDER BY start_ns DESC LIMIT 1",
        take, row.process_id, device, end_of(row), row.start_ns - kLongestKernel, row.start_ns);
    const bool ran = id != 0;
    if (!ran)
      select(
          session_,
          "SELECT id, name_id, start_ns FROM kernel WHERE process_id = ? AND device_id = ? AND start_ns >= ? "
          "ORDER BY start_ns LIMIT 1",
          take, row.process_id, device, end_of(row));
    if (id == 0) return;
    const QString brief = names_.brief(name);
    const QString kernel = brief.isEmpty() ? QStringLiteral("a kernel") : brief;
    add(Relation::Kind::kWaiter, {EventTable::kKernel, id},
        !ran      ? QStringLiteral("%1 came next, %2 after").arg(kernel, duration_text(start - end_of(row)))
        : faulted ? QStringLiteral("%1 faulted, and stood still for it").arg(kernel)
                  : QStringLiteral("%1 ran meanwhile").arg(kernel));
  }

  /// Migrations that brought the page of a fault.
  void moved(const trace::UmEventRow& fault, const std::string& kinds) {
    if (!fault.address) return;
    select(
        session_,
        "SELECT rowid, bytes, start_ns FROM um_event WHERE process_id = ? AND start_ns >= ? AND start_ns <= "
        "? "
        "AND " +
            kinds + " AND address <= ? AND address + bytes > ? ORDER BY start_ns LIMIT ?",
        [&](trace::Statement& row) {
          add(Relation::Kind::kEffect, {EventTable::kUmEvent, row.integer(0)},
              QStringLiteral("moved %1 for it, %2 after")
                  .arg(bytes_text(static_cast<double>(row.integer(1))),
                       duration_text(row.integer(2) - fault.start_ns)));
        },
        fault.process_id, fault.start_ns, end_of(fault) + kFaultToMove, *fault.address, *fault.address,
        kMostLinks);
  }

  /// Faults within a migration's pages that came before its end; false if there are none.
  bool faults(const trace::UmEventRow& row, const std::string& kinds) {
    if (!row.address || !row.bytes) return false;
    const std::size_t before = links_.size();
    select(
        session_,
        "SELECT rowid, start_ns FROM um_event WHERE process_id = ? AND start_ns >= ? AND start_ns <= ? AND " +
            kinds + " AND address >= ? AND address < ? ORDER BY start_ns DESC LIMIT ?",
        [&](trace::Statement& found) {
          add(Relation::Kind::kCause, {EventTable::kUmEvent, found.integer(0)},
              QStringLiteral("a page fault brought it about, %1 before")
                  .arg(duration_text(row.start_ns - found.integer(1))));
        },
        row.process_id, row.start_ns - kFaultToMove, end_of(row), *row.address, *row.address + *row.bytes,
        kMostLinks);
    return links_.size() > before;
  }

  /// What came to the same GPU while pages of it left, or soon after.
  void made_room(const trace::UmEventRow& row) {
    select(
        session_,
        "SELECT rowid, bytes FROM um_event WHERE process_id = ? AND kind = 3 AND destination_device_id IS ? "
        "AND "
        "start_ns >= ? AND start_ns <= ? ORDER BY start_ns LIMIT 1",
        [&](trace::Statement& found) {
          add(Relation::Kind::kEffect, {EventTable::kUmEvent, found.integer(0)},
              QStringLiteral("made room for %1").arg(bytes_text(static_cast<double>(found.integer(1)))));
        },
        row.process_id, row.source_device_id, row.start_ns, end_of(row) + kFaultToMove);
  }

  void add(Relation::Kind kind, EventRef event, const QString& text) {
    links_.push_back({kind, event, text});
  }

  trace::Session& session_;
  const NameBook& names_;
  std::vector<MigrationLink> links_;
};

template <std::size_t kSize>
QString word(const std::array<const char*, kSize>& words, std::int64_t index) {
  return QString::fromUtf8(
      words[index >= 0 && index < static_cast<std::int64_t>(kSize) ? static_cast<std::size_t>(index) : 0]);
}

}  // namespace

EventFacts um_facts(trace::Session& session, const Overview& overview, EventRef event) {
  EventFacts facts;
  facts.event = event;
  const auto row = session.first<trace::UmEventRow>("WHERE rowid = ?", event.id);
  if (!row) return facts;
  const auto add = [&](const char* name, const QString& value) {
    facts.facts.emplace_back(QString::fromUtf8(name), value);
  };
  const auto side = [&](const std::optional<std::int64_t>& device) {
    if (!device) return QStringLiteral("host");
    return QStringLiteral("GPU %1").arg(
        session.integer("SELECT count(*) FROM device WHERE id < " + std::to_string(*device)));
  };
  facts.title = word(kTitles, static_cast<std::int64_t>(row->kind));
  add("begins", moment_text(row->start_ns - overview.origin_ns, 1));
  if (row->end_ns) add("takes", duration_text(*row->end_ns - row->start_ns));
  const bool moves = row->kind == UmEventKind::kMigrationToDevice ||
                     row->kind == UmEventKind::kMigrationToHost || row->kind == UmEventKind::kMigrationPeer;
  if (row->bytes) add("bytes", bytes_text(static_cast<double>(*row->bytes)));
  if (moves) {
    add("from", side(row->source_device_id));
    add("to", side(row->destination_device_id));
    add("why", word(kCauses, row->cause.value_or(0)));
    if (row->bytes && row->end_ns && *row->end_ns > row->start_ns)
      add("rate", rate_text(static_cast<double>(*row->bytes) /
                            static_cast<double>(*row->end_ns - row->start_ns) * 1e9));
  } else if (row->count) {
    add("faults", count_text(*row->count));
  }
  if (row->address) add("address", QStringLiteral("0x%1").arg(*row->address, 0, 16));
  return facts;
}

std::vector<MigrationLink> migration_links(trace::Session& session, const NameBook& names, EventRef event) {
  return Links(session, names).of(event);
}

}  // namespace tferry::gui
