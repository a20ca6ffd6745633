#include "cli/report/pools_table.hpp"

#include <fmt/format.h>

#include <string>

namespace tferry::cli {
namespace {

/// CUmemPool_attribute, those that programs can set.
const char* attribute_name(std::int64_t attribute) {
  switch (attribute) {
    case 1:
      return "reuse_follow_event_dependencies";
    case 2:
      return "reuse_allow_opportunistic";
    case 3:
      return "reuse_allow_internal_dependencies";
    case 4:
      return "release_threshold";
    case 6:
      return "reserved_high";
    case 8:
      return "used_high";
    default:
      return "other";
  }
}

}  // namespace

std::optional<Table> pools_table(const Scope& scope) {
  Table table("memory", "What the program did to its memory pools",
              {{"process"},
               {"gpu"},
               {"pool"},
               {"operation"},
               {"attribute"},
               {"times", Unit::kCount},
               {"first_after", Unit::kNanoseconds},
               {"last_value"}});
  // Only the calls that make a pool and make it current name the GPU.
  scope.select(
      "SELECT pid, (SELECT device_id FROM pool_operation AS named WHERE named.process_id = call.process_id "
      "AND "
      "named.pool = call.pool AND device_id IS NOT NULL LIMIT 1), pool, label, attribute, count(*), "
      "min(call.start_ns), (SELECT last.value FROM pool_operation AS last WHERE last.process_id = "
      "call.process_id AND last.pool = call.pool AND last.kind = call.kind AND last.attribute IS "
      "call.attribute ORDER BY last.start_ns DESC LIMIT 1) FROM pool_operation AS call JOIN process ON "
      "process.id = call.process_id JOIN enumeration AS kind ON kind.name = 'pool_operation_kind' AND "
      "kind.value = call.kind WHERE " +
          scope.condition("call.process_id", "", "call.start_ns") +
          " GROUP BY call.process_id, pool, call.kind, attribute ORDER BY pid, pool, 7",
      [&](trace::Statement& row) {
        const std::optional<std::int64_t> device =
            row.is_null(1) ? std::nullopt : std::optional(row.integer(1));
        table.add(KnownBy::kMeasured,
                  {row.integer(0), scope.gpu_name(device), fmt::format("{:#x}", row.integer(2)),
                   std::string(row.text(3)),
                   row.is_null(4) ? Cell("-") : Cell(attribute_name(row.integer(4))), row.integer(5),
                   row.integer(6) - scope.start_ns(), row.is_null(7) ? Cell("-") : Cell(row.integer(7))});
      });
  if (table.rows.empty()) return std::nullopt;
  return table;
}

}  // namespace tferry::cli
