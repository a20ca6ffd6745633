#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <utility>

namespace tferry::cli {

namespace {

/// What the access pass by pages saw kernels reach without naming it.
Table by_pointers(const Scope& scope) {
  Table table("pointed_to", "Memory that kernels reach by pointers in device memory",
              {{"name"},
               {"gpu"},
               {"launches", Unit::kCount},
               {"allocations", Unit::kCount},
               {"touched", Unit::kBytes},
               {"first access"}});
  const std::string where =
      scope.condition("kernel.process_id", "kernel.device_id", "coalesce(kernel.start_ns, kernel.call_ns)");
  scope.select(
      "SELECT string.value, kernel.device_id, count(DISTINCT kernel.id), count(DISTINCT "
      "access.allocation_id), "
      "sum(access.bytes), group_concat(DISTINCT replace(enumeration.label, 'may_touch', 'not told')) FROM "
      "access "
      "JOIN kernel USING (process_id, operation) LEFT JOIN string ON string.id = kernel.name_id LEFT JOIN "
      "enumeration ON enumeration.name = 'access_kind' AND enumeration.value = access.kind WHERE "
      "access.known_by "
      "= 6 AND access.argument_offset IS NULL AND " +
          where + " GROUP BY 1, 2 ORDER BY 5 DESC, 1",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device, bytes;
        row.get(1, device);
        row.get(4, bytes);
        table.add(KnownBy::kMeasured,
                  {row.is_null(0) ? Cell() : Cell(demangled(row.shown(0))), scope.gpu_name(device),
                   row.integer(2), row.integer(3), bytes, row.shown(5)});
      });
  if (!table.rows.empty()) {
    table.notes.emplace_back(
        "no argument of these launches names that memory (tferry profile --access pages); touched: extents "
        "of "
        "2 MiB, in all launches together");
  }
  return table;
}

}  // namespace

std::vector<Table> report_kernels(const Scope& scope) {
  Table table("kernels", "Kernels by the time they take",
              {{"name"},
               {"gpu"},
               {"launches", Unit::kCount},
               {"total", Unit::kNanoseconds},
               {"share", Unit::kShare},
               {"mean", Unit::kNanoseconds},
               {"shortest", Unit::kNanoseconds},
               {"longest", Unit::kNanoseconds}});
  const std::string where =
      scope.condition("kernel.process_id", "kernel.device_id", "coalesce(kernel.start_ns, kernel.call_ns)");
  const auto all = scope.value<std::int64_t>("SELECT sum(end_ns - start_ns) FROM kernel WHERE " + where);
  std::int64_t groups = 0;
  scope.select(
      "SELECT string.value, device_id, count(*), sum(end_ns - start_ns), avg(end_ns - start_ns), "
      "min(end_ns - start_ns), max(end_ns - start_ns) FROM kernel LEFT JOIN string ON string.id = name_id "
      "WHERE " +
          where + " GROUP BY name_id, device_id ORDER BY 4 DESC, 3 DESC, 1",
      [&](trace::Statement& row) {
        if (++groups > scope.top() && scope.top() > 0) return;
        std::optional<std::int64_t> device, total, shortest, longest;
        std::optional<double> mean;
        row.get(1, device);
        row.get(3, total);
        row.get(4, mean);
        row.get(5, shortest);
        row.get(6, longest);
        const std::optional<double> share =
            total && all && *all > 0 ? std::optional(static_cast<double>(*total) / static_cast<double>(*all))
                                     : std::nullopt;
        table.add(KnownBy::kMeasured,
                  {row.is_null(0) ? Cell() : Cell(demangled(row.shown(0))), scope.gpu_name(device),
                   row.integer(2), total, share, mean, shortest, longest});
      });
  if (scope.top() > 0 && groups > scope.top()) {
    table.notes.push_back(fmt::format("{} more kernels; --top 0 shows all", groups - scope.top()));
  }
  const auto untimed = scope.value<std::int64_t>(
      "SELECT count(*) FROM kernel WHERE (start_ns IS NULL OR end_ns IS NULL) AND " + where);
  if (untimed.value_or(0) > 0) {
    table.notes.push_back(fmt::format(
        "{} launches have unknown times: no record says when they ran; see tferry report quality", *untimed));
  }
  std::vector<Table> tables = {std::move(table)};
  if (Table pointed = by_pointers(scope); !pointed.rows.empty()) tables.push_back(std::move(pointed));
  return tables;
}

}  // namespace tferry::cli
