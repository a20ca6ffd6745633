#include "cli/report/reports.hpp"

#include <fmt/format.h>

namespace tferry::cli {
namespace {

Table copies(const Scope& scope) {
  Table table("transfers", "Copies by direction",
              {{"whose"},
               {"gpu"},
               {"direction"},
               {"host_memory"},
               {"copies", Unit::kCount},
               {"bytes", Unit::kBytes},
               {"time", Unit::kNanoseconds},
               {"rate", Unit::kBytesPerSecond}});
  const std::string where = scope.condition("process_id", "device_id", "coalesce(start_ns, call_ns)");
  // The host's side of a copy, where there is one, is the one that is not on a device.
  scope.select(
      "SELECT owner.label, device_id, kind.label, host.label, count(*), sum(bytes), "
      "sum(CASE WHEN end_ns > start_ns THEN end_ns - start_ns END), "
      "sum(CASE WHEN end_ns > start_ns THEN bytes END) FROM (SELECT *, CASE memcpy.kind WHEN 1 THEN "
      "source_kind WHEN 2 "
      "THEN destination_kind ELSE -1 END AS host_kind FROM memcpy WHERE " +
          where +
          ") AS copy LEFT JOIN enumeration AS owner ON owner.name = 'stream_owner' AND owner.value = "
          "copy.owner "
          "LEFT JOIN enumeration AS kind ON kind.name = 'copy_kind' AND kind.value = copy.kind "
          "LEFT JOIN enumeration AS host ON host.name = 'memory_kind' AND host.value = copy.host_kind "
          "GROUP BY copy.owner, device_id, copy.kind, copy.host_kind ORDER BY 6 DESC",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device, time, timed_bytes;
        row.get(1, device);
        row.get(6, time);
        row.get(7, timed_bytes);
        std::optional<double> rate;
        if (time && *time > 0)
          rate = static_cast<double>(timed_bytes.value_or(0)) / static_cast<double>(*time) * 1e9;
        table.add(KnownBy::kMeasured, {row.shown(0), scope.gpu_name(device), row.shown(2),
                                       row.is_null(3) ? Cell("-") : Cell(row.shown(3)), row.integer(4),
                                       row.integer(5), time, rate});
      });
  const auto untimed = scope.value<std::int64_t>(
      "SELECT count(*) FROM memcpy WHERE (start_ns IS NULL OR end_ns IS NULL) AND " + where);
  if (untimed.value_or(0) > 0) {
    table.notes.push_back(fmt::format(
        "{} copies have unknown times: no record says when they ran; see tferry report quality", *untimed));
  }
  return table;
}

Table movements(const Scope& scope) {
  Table table("transfers", "What the runtime moved",
              {{"gpu"},
               {"movement"},
               {"pieces", Unit::kCount},
               {"bytes", Unit::kBytes},
               {"allocations", Unit::kCount},
               {"on_demand", Unit::kCount},
               {"thread_waited", Unit::kNanoseconds}});
  scope.select(
      "SELECT device_id, label, count(*), sum(bytes), count(DISTINCT allocation_id), count(operation), "
      "sum(wait_ns) FROM swap LEFT JOIN enumeration ON name = 'transfer_kind' AND value = kind WHERE " +
          scope.condition("process_id", "device_id", "submit_ns") +
          " GROUP BY device_id, kind ORDER BY 4 DESC",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device, wait;
        row.get(0, device);
        row.get(6, wait);
        table.add(KnownBy::kMeasured, {scope.gpu_name(device), row.shown(1), row.integer(2), row.integer(3),
                                       row.integer(4), row.integer(5), wait});
      });
  return table;
}

Table sampled(const Scope& scope) {
  Table table("transfers", "Bytes by the hardware counters, of everything that used the GPU",
              {{"gpu"},
               {"counter"},
               {"samples", Unit::kCount},
               {"total", Unit::kBytes},
               {"highest_rate", Unit::kBytesPerSecond}});
  scope.select(
      "SELECT device_id, string.value, count(*), sum(counter.value), "
      "max(CASE WHEN end_ns > start_ns THEN counter.value * 1e9 / (end_ns - start_ns) END) FROM counter JOIN "
      "string ON string.id = name_id WHERE string.value LIKE '%bytes%' AND " +
          scope.condition("", "device_id", "start_ns") + " GROUP BY device_id, name_id ORDER BY 1, 2",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device;
        std::optional<double> highest;
        row.get(0, device);
        row.get(4, highest);
        table.add(KnownBy::kMeasured,
                  {scope.gpu_name(device), row.shown(1), row.integer(2), row.real(3), highest});
      });
  if (table.rows.empty())
    table.notes.emplace_back("unknown: no counters were sampled; see tferry report quality");
  return table;
}

}  // namespace

std::vector<Table> report_transfers(const Scope& scope) {
  std::vector<Table> tables = {copies(scope)};
  if (Table moved = movements(scope); !moved.rows.empty()) tables.push_back(std::move(moved));
  tables.push_back(sampled(scope));
  return tables;
}

}  // namespace tferry::cli
