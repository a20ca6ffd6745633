#include "cli/report/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tferry::cli {
namespace {

struct Launches {
  std::vector<std::int64_t> ahead;  ///< from the call to the start on the GPU, ns
  std::int64_t sum_ns = 0, first_call_ns = 0, last_call_ns = 0, wait_ns = 0;
  std::int64_t impossible = 0;  ///< that began before they were asked for
};

std::int64_t quantile(std::vector<std::int64_t>& values, double q) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

std::vector<Table> report_launch(const Scope& scope) {
  Table table("launch", "From the launch to the start of a kernel: how far the program runs ahead of the GPU",
              {{"process"},
               {"gpu"},
               {"launches", Unit::kCount},
               {"shortest_tenth", Unit::kNanoseconds},
               {"median", Unit::kNanoseconds},
               {"longest_tenth", Unit::kNanoseconds},
               {"longest", Unit::kNanoseconds},
               {"queued_on_average", Unit::kCount},
               {"waited_for_memory", Unit::kNanoseconds}});
  std::map<std::pair<std::int64_t, std::int64_t>, Launches> ranks;
  scope.select(
      "SELECT pid, device_id, call_ns, kernel.start_ns, wait_ns FROM kernel JOIN process ON process.id = "
      "process_id "
      "WHERE call_ns IS NOT NULL AND kernel.start_ns IS NOT NULL AND owner <> 2 AND " +
          scope.condition("process_id", "device_id", "kernel.call_ns") + " ORDER BY call_ns",
      [&](trace::Statement& row) {
        Launches& launches = ranks[{row.integer(0), row.is_null(1) ? -1 : row.integer(1)}];
        const std::int64_t call = row.integer(2), start = row.integer(3);
        if (start < call) {
          ++launches.impossible;
          return;
        }
        if (launches.ahead.empty()) launches.first_call_ns = call;
        launches.last_call_ns = call;
        launches.ahead.push_back(start - call);
        launches.sum_ns += start - call;
        launches.wait_ns += row.is_null(4) ? 0 : row.integer(4);
      });
  std::int64_t impossible = 0;
  for (auto& [rank, launches] : ranks) {
    impossible += launches.impossible;
    if (launches.ahead.empty()) continue;
    // Little's law: mean number waiting = arrivals per time x mean wait.
    const std::int64_t span = launches.last_call_ns - launches.first_call_ns;
    const std::optional<double> queued =
        span > 0 ? std::optional(static_cast<double>(launches.sum_ns) / static_cast<double>(span))
                 : std::nullopt;
    table.add(KnownBy::kMeasured,
              {rank.first, scope.gpu_name(rank.second), static_cast<std::int64_t>(launches.ahead.size()),
               quantile(launches.ahead, 0.1), quantile(launches.ahead, 0.5), quantile(launches.ahead, 0.9),
               quantile(launches.ahead, 1), queued, launches.wait_ns});
  }
  if (impossible > 0) {
    table.notes.push_back(
        fmt::format("{} kernels began before their launch by their times, and are left out", impossible));
  }
  if (table.rows.empty()) {
    table.notes.emplace_back(
        "unknown: no kernel has both its launch and its start recorded; see tferry report quality");
  }
  return {table};
}

}  // namespace tferry::cli
