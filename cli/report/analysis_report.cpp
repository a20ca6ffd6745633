#include "cli/report/iteration_times.hpp"
#include "cli/report/reports.hpp"
#include "cli/report/resource_text.hpp"
#include "cli/report/route_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tferry::cli {
namespace {

/// Gradient accumulation, and how often the ranks of a job wait for each other.
void note_structure(const Scope& scope, const IterationTimes& rank, Table& table) {
  const std::string who = fmt::format("process {}, GPU {}", rank.pid, scope.gpu_name(rank.device_id));
  if (rank.micro_batches > 1)
    table.notes.push_back(
        fmt::format("{}: an iteration is made of {} micro-batches", who, rank.micro_batches));
  if (rank.synchronising.empty()) return;
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < rank.synchronising.size(); ++i)
    pauses.push_back(rank.synchronising[i] - rank.synchronising[i - 1]);
  std::sort(pauses.begin(), pauses.end());
  const std::int64_t every = pauses.empty() ? 0 : pauses[pauses.size() / 2];
  table.notes.push_back(fmt::format("{}: ranks wait for each other at {} operations of an iteration, {}", who,
                                    rank.synchronisations,
                                    every == 0   ? std::string("once in this recording")
                                    : every == 1 ? std::string("in every one")
                                                 : fmt::format("every {} iterations", every)));
}

Table iterations(const Scope& scope) {
  Table table("analysis", "Iterations",
              {{"process"},
               {"gpu"},
               {"iterations", Unit::kCount},
               {"regular", Unit::kCount},
               {"operations_each", Unit::kCount},
               {"time", Unit::kNanoseconds},
               {"tensors", Unit::kCount},
               {"persistent", Unit::kBytes}});
  for (const IterationTimes& rank : iteration_times(scope)) {
    const auto tensors = scope.value<std::int64_t>(
        fmt::format("SELECT count(*) FROM tensor WHERE process_id = {} AND device_id IS {}", rank.process_id,
                    rank.device_id ? std::to_string(*rank.device_id) : "NULL"));
    const auto persistent = scope.value<std::int64_t>(fmt::format(
        "SELECT sum(bytes) FROM tensor WHERE persistent = 1 AND process_id = {} AND device_id IS {}",
        rank.process_id, rank.device_id ? std::to_string(*rank.device_id) : "NULL"));
    const bool matched = tensors.value_or(0) > 0;
    table.add(KnownBy::kMeasured, {rank.pid, scope.gpu_name(rank.device_id), rank.iterations, rank.regular,
                                   rank.operations, rank.median_ns, matched ? Cell(*tensors) : Cell(),
                                   matched ? Cell(persistent.value_or(0)) : Cell()});
    note_structure(scope, rank, table);
  }
  return table;
}

Table times(const Scope& scope) {
  Table table("analysis", "An iteration under a budget of GPU memory",
              {{"gpu"},
               {"what"},
               {"time", Unit::kNanoseconds},
               {"budget", Unit::kBytes},
               {"in", Unit::kBytes},
               {"out", Unit::kBytes},
               {"waits", Unit::kNanoseconds},
               {"limited_by"}});
  for (const auto& row : scope.session().rows<trace::BoundRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY id")) {
    const std::string gpu = scope.gpu_name(row.device_id);
    const bool timed = row.in_memory_ns.value_or(0) > 0;
    table.add(timed ? KnownBy::kMeasured : KnownBy::kUnknown,
              {gpu, "kernels alone, all in memory", timed ? Cell(*row.in_memory_ns) : Cell(), Cell("none"),
               std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, "compute"});
    if (!timed) {
      table.notes.push_back(fmt::format(
          "the times of GPU {}'s operations are unknown, so bound and simulations count the movement alone; "
          "see tferry report quality",
          gpu));
    }
    table.add(KnownBy::kSimulated, {gpu, "bound: no plan is faster", row.bound_ns, row.budget_bytes,
                                    row.bytes_in, row.bytes_out, Cell("-"), resource_text(row.resource)});
    const std::string link =
        fmt::format("{:.1f} GB/s in, {:.1f} GB/s out, {}", row.link_h2d_bytes_per_second.value_or(0) / 1e9,
                    row.link_d2h_bytes_per_second.value_or(0) / 1e9, row.link_known_by);
    table.notes.push_back(row.route.value_or("direct") == "direct"
                              ? fmt::format("link of GPU {}: {}", gpu, link)
                              : fmt::format("contents of GPU {} go {}, taken to be idle: {}", gpu,
                                            route_text(row.route), link));
  }
  for (const auto& row : scope.session().rows<trace::SimulationRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY device_id, id")) {
    table.add(KnownBy::kSimulated,
              {scope.gpu_name(row.device_id), row.policy, row.predicted_ns, row.budget_bytes, row.bytes_in,
               row.bytes_out, row.stall_ns, resource_text(row.resource)});
  }
  return table;
}

}  // namespace

std::vector<Table> report_analysis(const Scope& scope) {
  std::vector<Table> tables = {iterations(scope), times(scope)};
  trace::Session& session = scope.session();
  if (!session.meta("analysis.created")) {
    tables.front().notes.emplace_back("unknown: not analyzed yet; run tferry analyze");
    tables.pop_back();
    return tables;
  }
  std::istringstream unknown(session.meta("analysis.unknown").value_or(""));
  for (std::string line; std::getline(unknown, line);) tables.back().notes.push_back("unknown: " + line);
  return tables;
}

}  // namespace tferry::cli
