#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace tferry::cli {
namespace {

/// Iterations with the typical sequence of operations, in which tensors are looked for; by process and GPU.
/// Of all the recording, whatever its time range: that is what tensors were matched in.
std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, std::int64_t> regular_iterations(
    const Scope& scope) {
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, std::int64_t> counts;
  scope.select(
      "SELECT operation.process_id, operation.device_id, count(*) FROM operation JOIN iteration ON "
      "iteration.id = "
      "operation.iteration_id WHERE operation.position = 0 AND iteration.regular = 1 GROUP BY 1, 2",
      [&](trace::Statement& row) {
        std::optional<std::int64_t> device;
        row.get(1, device);
        counts[{row.integer(0), device}] = row.integer(2);
      });
  return counts;
}

}  // namespace

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
               {"of_iterations", Unit::kCount},
               {"name"}});
  const auto iterations = regular_iterations(scope);
  std::int64_t tensors = 0, bytes = 0, unstable = 0;
  for (const auto& row : scope.session().rows<trace::TensorRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY bytes DESC, id")) {
    ++tensors;
    bytes += row.bytes;
    // A persistent tensor is one allocation that outlives them all; of one that is never freed, each is an
    // instance.
    const auto found = iterations.find({row.process_id, row.device_id});
    const bool counted = found != iterations.end() && (row.persistent == 0 || row.instances > 1);
    if (counted && row.instances < found->second) ++unstable;
    if (scope.top() > 0 && tensors > scope.top()) continue;
    table.add(
        KnownBy::kMeasured,
        {row.id, scope.gpu_name(row.device_id), row.bytes, row.persistent != 0 ? "persistent" : "iteration",
         row.movable != 0 ? "yes" : "no", row.accesses, row.first_position, row.last_position, row.instances,
         counted ? Cell(found->second) : Cell("-"), row.name ? Cell(*row.name) : Cell("-")});
  }
  if (tensors == 0) {
    table.notes.emplace_back(scope.session().meta("analysis.created")
                                 ? "unknown: the analysis matched none; tferry report analysis says why"
                                 : "unknown: not analyzed yet; run tferry analyze");
  } else {
    table.notes.push_back(
        fmt::format("{} tensors of {} bytes in all; uses are positions in the iteration", tensors, bytes));
    table.notes.push_back(
        unstable == 0
            ? "all of them matched in every iteration with the typical sequence of operations"
            : fmt::format("{} of them not matched in all iterations with the typical sequence of operations "
                          "(instances below of_iterations)",
                          unstable));
  }
  return {table};
}

}  // namespace tferry::cli
