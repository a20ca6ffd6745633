#include "gui/session/event_facts.hpp"

#include "gui/session/contention_lanes.hpp"
#include "gui/session/lane_counts.hpp"
#include "gui/session/migrations.hpp"
#include "gui/session/move_facts.hpp"
#include "gui/time/time_text.hpp"

namespace tferry::gui {
namespace {

class Facts {
 public:
  Facts(trace::Session& session, const NameBook& names, const Overview& overview, EventRef event)
      : session_(session), names_(names), overview_(overview) {
    result_.event = event;
  }

  EventFacts make() {
    switch (result_.event.table) {
      case EventTable::kKernel:
        kernel();
        break;
      case EventTable::kMemcpy:
        copy();
        break;
      case EventTable::kMemset:
        set();
        break;
      case EventTable::kContention:
        contention();
        break;
      case EventTable::kAllocation:
        allocation();
        break;
      case EventTable::kSwap:
        return actual_move_facts(session_, overview_, result_.event);
      case EventTable::kGate:
        return wait_facts(session_, names_, overview_, result_.event);
      case EventTable::kPlanAction:
        return planned_move_facts(session_, names_, overview_, result_.event);
      case EventTable::kUmEvent:
        return um_facts(session_, overview_, result_.event);
      default:
        any();
        break;
    }
    return std::move(result_);
  }

 private:
  void add(const char* name, const QString& value) {
    if (!value.isEmpty()) result_.facts.emplace_back(QString::fromUtf8(name), value);
  }
  void add_number(const char* name, const std::optional<std::int64_t>& value) {
    if (value) add(name, count_text(*value));
  }
  void add_duration(const char* name, const std::optional<std::int64_t>& value) {
    if (value) add(name, duration_text(*value));
  }
  void add_bytes(const char* name, const std::optional<std::int64_t>& value) {
    if (value) add(name, bytes_text(static_cast<double>(*value)));
  }
  void add_times(const std::optional<std::int64_t>& start, const std::optional<std::int64_t>& end) {
    if (!start) return;
    add("begins", moment_text(*start - overview_.origin_ns, 1));
    if (end) {
      add("takes", duration_text(*end - *start));
    } else {
      add("takes", QStringLiteral("unknown: still running when the recording ended"));
    }
  }

  /// What all operations have in common: their call and what it names.
  template <typename Row>
  void add_call(const Row& row) {
    if (row.call_ns && row.start_ns) add_duration("call to start", *row.start_ns - *row.call_ns);
    if (row.wait_ns && *row.wait_ns > 0) add_duration("call waited for memory", row.wait_ns);
    add_number("operation", row.operation);
    if (row.stream_id) {
      const auto stream = session_.first<trace::StreamRow>("WHERE id = ?", *row.stream_id);
      if (stream && stream->cupti_stream_id) add_number("stream", stream->cupti_stream_id);
    }
    add("owner",
        QString::fromStdString(session_.label("stream_owner", static_cast<std::int64_t>(row.owner))));
    add_number("correlation", row.correlation_id);
    if (row.operation) add_accesses(row.process_id, *row.operation);
  }

  void add_accesses(std::int64_t process, std::int64_t operation) {
    constexpr int kMost = 8;
    int shown = 0;
    std::int64_t bytes = 0;
    select(
        session_,
        "SELECT DISTINCT allocation.id, allocation.bytes, coalesce((SELECT coalesce(tensor.name, 'tensor ' "
        "|| tensor.id) "
        "FROM tensor_allocation JOIN tensor ON tensor.id = tensor_id WHERE allocation_id = allocation.id "
        "LIMIT 1), "
        "'allocation ' || allocation.allocation) FROM access JOIN allocation ON allocation.id = "
        "allocation_id WHERE "
        "access.process_id = ? AND operation = ? ORDER BY 2 DESC",
        [&](trace::Statement& row) {
          bytes += row.integer(1);
          if (++shown > kMost) return;
          add(shown == 1 ? "touches" : " ", QString::fromStdString(row.shown(2)) + QStringLiteral("  ") +
                                                bytes_text(static_cast<double>(row.integer(1))));
        },
        process, operation);
    if (shown > kMost)
      add(" ", QStringLiteral("… %1 in all, %2").arg(shown).arg(bytes_text(static_cast<double>(bytes))));
  }

  void kernel() {
    const auto row = session_.first<trace::KernelRow>("WHERE id = ?", result_.event.id);
    if (!row) return;
    result_.title = row->name_id ? names_.full(*row->name_id) : QStringLiteral("kernel without a name");
    add_times(row->start_ns, row->end_ns);
    add("grid", QStringLiteral("%1 × %2 × %3").arg(row->grid_x).arg(row->grid_y).arg(row->grid_z));
    add("block", QStringLiteral("%1 × %2 × %3").arg(row->block_x).arg(row->block_y).arg(row->block_z));
    add_number("registers per thread", row->registers);
    add_bytes("shared memory, static", row->static_shared_bytes);
    add_bytes("shared memory, dynamic", row->dynamic_shared_bytes);
    add_call(*row);
  }

  void copy() {
    const auto row = session_.first<trace::MemcpyRow>("WHERE id = ?", result_.event.id);
    if (!row) return;
    result_.title = QStringLiteral("Copy, ") +
                    QString::fromStdString(session_.label("copy_kind", static_cast<std::int64_t>(row->kind)))
                        .replace(QLatin1Char('_'), QLatin1Char(' '));
    add_times(row->start_ns, row->end_ns);
    add_bytes("bytes", row->bytes);
    if (row->start_ns && row->end_ns && *row->end_ns > *row->start_ns)
      add("rate", rate_text(static_cast<double>(row->bytes) /
                            static_cast<double>(*row->end_ns - *row->start_ns) * 1e9));
    add("from", memory(row->source_kind));
    add("to", memory(row->destination_kind));
    add_number("channel", row->channel);
    add_transfer(row->id);
    add_call(*row);
  }

  void add_transfer(std::int64_t memcpy_id) {
    const auto row = session_.first<trace::TransferRow>("WHERE memcpy_id = ?", memcpy_id);
    if (!row) return;
    const QString known = QStringLiteral(", ") + QString::fromStdString(row->solo_known_by);
    if (row->solo_ns)
      add("alone it would take", duration_text(static_cast<std::int64_t>(*row->solo_ns)) + known);
    if (row->lost_ns) add("lost to others", duration_text(static_cast<std::int64_t>(*row->lost_ns)));
    if (row->exposed_ns) add("no kernel ran for", duration_text(static_cast<std::int64_t>(*row->exposed_ns)));
  }

  void set() {
    const auto row = session_.first<trace::MemsetRow>("WHERE id = ?", result_.event.id);
    if (!row) return;
    result_.title = QStringLiteral("Memset");
    add_times(row->start_ns, row->end_ns);
    add_bytes("bytes", row->bytes);
    add_number("value", row->value);
    add_call(*row);
  }

  /// A stretch of a tensor's life.
  void allocation() {
    const auto row = session_.first<trace::AllocationRow>("WHERE id = ?", result_.event.id);
    if (!row) return;
    result_.title = QStringLiteral("Allocation %1").arg(row->allocation);
    const auto tensor = session_.first<trace::TensorRow>(
        "WHERE id IN (SELECT tensor_id FROM tensor_allocation WHERE allocation_id = ?)", row->id);
    if (tensor) {
      result_.tensor =
          tensor->name ? QString::fromStdString(*tensor->name) : QStringLiteral("tensor %1").arg(tensor->id);
      result_.title = result_.tensor;
    }
    for (const auto& named : session_.rows<trace::AllocationNameRow>("WHERE allocation_id = ?", row->id)) {
      add("the program calls it", QString::fromStdString(named.name));
      if (named.category) add("category", QString::fromStdString(*named.category));
    }
    add("allocated", moment_text(row->alloc_ns - overview_.origin_ns, 1));
    add("freed", row->free_ns ? moment_text(*row->free_ns - overview_.origin_ns, 1)
                              : QStringLiteral("not while this was recorded"));
    add_bytes("bytes", row->bytes);
    if (row->reserved_bytes != row->bytes) add_bytes("counted as", row->reserved_bytes);
    add("memory", memory(row->memory_kind));
    add("may be moved", row->movable != 0 ? QStringLiteral("yes") : QStringLiteral("no: too small"));
    if (tensor) {
      add("life", tensor->persistent != 0 ? QStringLiteral("persistent") : QStringLiteral("iteration"));
      add_number("accesses per iteration", tensor->accesses);
    }
    add("movements", count_text(session_.integer("SELECT count(*) FROM swap WHERE allocation_id = " +
                                                 std::to_string(row->id))));
  }

  /// A window: who lost how much to whom in it.
  void contention() {
    const auto window = session_.first<trace::ContentionRow>("WHERE id = ?", result_.event.id);
    if (!window) return;
    result_.title = QStringLiteral("Contention");
    add_times(window->start_ns, window->end_ns);
    select(
        session_,
        std::string(
            "SELECT (SELECT count(*) FROM device WHERE id < victim_device_id), culprit_device_id, (SELECT "
            "count(*) FROM device WHERE id < culprit_device_id), resource, sum(lost_ns), min(known_by), "
            "culprit_process_id IS NOT victim_process_id FROM contention WHERE start_ns = ? AND end_ns = ? "
            "AND link_id IS ? AND ") +
            kLostWhileRunning +
            " GROUP BY victim_process_id, victim_device_id, culprit_process_id, culprit_device_id, resource "
            "ORDER BY "
            "5 DESC",
        [&](trace::Statement& row) {
          const QString resource = resource_words(row.shown(3));
          const QString lost = duration_text(static_cast<std::int64_t>(row.real(4)));
          const QString known = QStringLiteral("; ") + QString::fromStdString(row.shown(5));
          const QByteArray victim = QStringLiteral("GPU %1 lost").arg(row.integer(0)).toUtf8();
          if (row.is_null(1)) return add(victim.constData(), lost + QStringLiteral(", ") + resource + known);
          add(victim.constData(),
              QStringLiteral("%1 to GPU %2, at %3%4").arg(lost).arg(row.integer(2)).arg(resource, known));
        },
        window->start_ns, window->end_ns, window->link_id);
  }

  QString memory(trace::MemoryKind kind) {
    return QString::fromStdString(session_.label("memory_kind", static_cast<std::int64_t>(kind)));
  }

  /// Rows of the other tables, column by column.
  void any() {
    struct Source {
      EventTable table;
      const char* name;
      const char* title;
    };
    constexpr Source kSources[] = {{EventTable::kMarker, "marker", "NVTX range"},
                                   {EventTable::kSync, "sync", "Wait for the GPU"},
                                   {EventTable::kIteration, "iteration", "Iteration"}};
    for (const Source& source : kSources) {
      if (source.table != result_.event.table) continue;
      result_.title = QString::fromUtf8(source.title);
      select(
          session_, std::string("SELECT * FROM \"") + source.name + "\" WHERE rowid = ?",
          [&](trace::Statement& row) { columns(row); }, result_.event.id);
    }
  }

  void columns(const trace::Statement& row) {
    for (int column = 0; column < row.column_count(); ++column) {
      if (row.is_null(column)) continue;
      const QString name = QString::fromStdString(row.column_name(column));
      const QByteArray shown = QString(name).replace(QLatin1Char('_'), QLatin1Char(' ')).toUtf8();
      if (name == QLatin1String("name_id")) {
        result_.title = names_.full(row.integer(column));
      } else if (name == QLatin1String("start_ns") || name == QLatin1String("end_ns") ||
                 name == QLatin1String("submit_ns")) {
        add(shown.constData(), moment_text(row.integer(column) - overview_.origin_ns, 1));
      } else if (name.endsWith(QLatin1String("_ns"))) {
        add(shown.constData(), duration_text(row.integer(column)));
      } else if (name.endsWith(QLatin1String("bytes"))) {
        add_bytes(shown.constData(), row.integer(column));
      } else {
        add(shown.constData(), QString::fromStdString(row.shown(column)));
      }
    }
  }

  trace::Session& session_;
  const NameBook& names_;
  const Overview& overview_;
  EventFacts result_;
};

}  // namespace

EventFacts event_facts(trace::Session& session, const NameBook& names, const Overview& overview,
                       EventRef event) {
  return Facts(session, names, overview, event).make();
}

}  // namespace tferry::gui
