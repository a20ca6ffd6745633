#include "cli/report/reports.hpp"

#include <fmt/format.h>

namespace tferry::cli {

std::vector<Table> report_tensors(const Scope& scope) {
  Table table("tensors", "Tensors: allocations that are the same in every iteration, largest first",
              {{"tensor"},
               {"gpu"},
               {"bytes", Unit::kBytes},
               {"life"},
               {"movable"},
               {"accesses", Unit::kCount},
               {"first_use"},
               {"last_use"},
               {"instances", Unit::kCount},
               {"name"}});
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  for (const auto& row : scope.session().rows<trace::TensorRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY bytes DESC, id")) {
    ++tensors;
    bytes += row.bytes;
    if (scope.top() > 0 && tensors > scope.top()) continue;
    table.add(KnownBy::kMeasured, {row.id, scope.gpu_name(row.device_id), row.bytes,
                                   row.persistent != 0 ? "persistent" : "iteration",
                                   row.movable != 0 ? "yes" : "no", row.accesses, row.first_position,
                                   row.last_position, row.instances, row.name ? Cell(*row.name) : Cell("-")});
  }
  if (tensors == 0) {
    table.notes.emplace_back(scope.session().meta("analysis.created")
                                 ? "unknown: the analysis matched none; tferry report analysis says why"
                                 : "unknown: not analyzed yet; run tferry analyze");
  } else {
    table.notes.push_back(
        fmt::format("{} tensors of {} bytes in all; uses are positions in the iteration", tensors, bytes));
  }
  return {table};
}

}  // namespace tferry::cli
