#include "cli/report/iteration_times.hpp"
#include "cli/report/reports.hpp"
#include "cli/report/turns_table.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>

namespace tferry::cli {
namespace {

/// Time lost before a transfer began; the rest is what transfers lost while they ran.
constexpr const char* kQueue = "copy_engine_queue";

bool analyzed(const Scope& scope, Table& table) {
  if (scope.session().meta("analysis.created")) return true;
  table.notes.emplace_back("unknown: not analyzed yet; run tferry analyze");
  return false;
}

/// What the analysis could not say about contention.
void add_unknown(const Scope& scope, Table& table) {
  std::istringstream lines(scope.session().meta("contention.unknown").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    table.notes.push_back("unknown: " + line);
  }
}

/// By process and GPU.
class Steps {
 public:
  explicit Steps(const Scope& scope) {
    for (const IterationTimes& rank : iteration_times(scope)) {
      ranks_[{rank.process_id, rank.device_id.value_or(0)}] = rank;
    }
  }
  std::optional<double> each(std::int64_t process, std::int64_t device, double sum) const {
    const auto rank = ranks_.find({process, device});
    if (rank == ranks_.end() || rank->second.iterations == 0) return std::nullopt;
    return sum / static_cast<double>(rank->second.iterations);
  }
  std::optional<double> share(std::int64_t process, std::int64_t device, std::optional<double> each) const {
    const auto rank = ranks_.find({process, device});
    if (!each || rank == ranks_.end() || rank->second.median_ns.value_or(0) <= 0) return std::nullopt;
    return *each / static_cast<double>(*rank->second.median_ns);
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, IterationTimes> ranks_;
};

std::string sides(const Scope& scope) {
  return scope.condition("victim_process_id", "victim_device_id", "start_ns");
}

/// Time lost within iterations, per iteration; and in all.
constexpr const char* kSums = "sum(CASE WHEN iteration_id IS NOT NULL THEN lost_ns ELSE 0 END), sum(lost_ns)";

Table matrix(const Scope& scope) {
  Table table("contention", "Time that transfers lost, and to whose transfers",
              {{"gpu"},
               {"lost_to"},
               {"at"},
               {"per_iteration", Unit::kNanoseconds},
               {"of_iteration", Unit::kShare},
               {"in_all", Unit::kNanoseconds}});
  if (!analyzed(scope, table)) return table;
  const Steps steps(scope);
  scope.select(
      fmt::format(
          "SELECT victim_process_id, victim_device_id, culprit_process_id, culprit_device_id, culprit, "
          "resource, {}, min(known_by) FROM contention WHERE resource <> '{}' AND {} "
          "GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 8 DESC",
          kSums, kQueue, sides(scope)),
      [&](trace::Statement& row) {
        std::optional<std::int64_t> culprit, other;
        row.get(3, culprit);
        row.get(2, other);
        const std::int64_t process = row.integer(0), device = row.integer(1);
        const auto each = steps.each(process, device, row.real(6));
        std::string whom = culprit ? "GPU " + scope.gpu_name(culprit) : row.shown(4);
        if (culprit && other && *other != process && *culprit == device) whom += ", another process";
        table.add(known_by_of(row.shown(8)), {scope.gpu_name(device), whom, row.shown(5), each,
                                              steps.share(process, device, each), row.real(7)});
      });
  if (table.rows.empty()) table.notes.emplace_back("no time lost is known");
  add_unknown(scope, table);
  return table;
}

/// Names of what moved in a window.
std::string moved(const Scope& scope, std::int64_t begin, std::int64_t end) {
  std::string names;
  scope.select(
      fmt::format(
          "SELECT DISTINCT coalesce(tensor.name, transfer.direction || ' of ' || transfer.bytes || ' bytes') "
          "FROM transfer LEFT JOIN memcpy ON memcpy.id = memcpy_id "
          "LEFT JOIN access ON access.process_id = memcpy.process_id AND access.operation = memcpy.operation "
          "LEFT JOIN tensor_allocation ON tensor_allocation.allocation_id = access.allocation_id "
          "LEFT JOIN tensor ON tensor.id = tensor_allocation.tensor_id "
          "WHERE transfer.start_ns < {} AND transfer.end_ns > {} AND lost_ns > 0 ORDER BY lost_ns DESC LIMIT "
          "3",
          end, begin),
      [&](trace::Statement& row) { names += (names.empty() ? "" : ", ") + row.shown(0); });
  return names;
}

Table windows(const Scope& scope) {
  Table table("contention", "When it happened, by time lost",
              {{"after_start", Unit::kNanoseconds},
               {"lasts", Unit::kNanoseconds},
               {"gpus"},
               {"lost", Unit::kNanoseconds},
               {"operations"},
               {"moved"}});
  const std::string where = fmt::format("resource <> '{}' AND {}", kQueue, sides(scope));
  std::int64_t rows = 0;
  scope.select(
      fmt::format(
          "SELECT start_ns, end_ns, sum(lost_ns), min(known_by) FROM contention WHERE {} GROUP BY 1, 2 "
          "ORDER BY 3 DESC",
          where),
      [&](trace::Statement& row) {
        if (++rows > scope.top() && scope.top() > 0) return;
        const std::int64_t begin = row.integer(0), end = row.integer(1);
        std::string gpus;
        scope.select(
            fmt::format("SELECT DISTINCT victim_device_id FROM contention WHERE start_ns = {} AND end_ns "
                        "= {} AND {} ORDER BY 1",
                        begin, end, where),
            [&](trace::Statement& gpu) {
              gpus += (gpus.empty() ? "" : ", ") + scope.gpu_name(gpu.integer(0));
            });
        const auto operations = scope.value<std::string>(fmt::format(
            "SELECT min(position) || ' to ' || max(position) FROM operation WHERE start_ns < {} AND "
            "end_ns > {} AND position IS NOT NULL",
            end, begin));
        table.add(known_by_of(row.shown(3)),
                  {begin - scope.start_ns(), end - begin, gpus, row.real(2),
                   operations ? Cell(*operations) : Cell(), moved(scope, begin, end)});
      });
  if (scope.top() > 0 && rows > scope.top()) {
    table.notes.push_back(fmt::format("{} more windows; --top 0 shows all", rows - scope.top()));
  }
  return table;
}

Table kinds(const Scope& scope) {
  Table table("contention", "How much slower than alone transfers were",
              {{"gpu"},
               {"direction"},
               {"transfers", Unit::kCount},
               {"bytes", Unit::kBytes},
               {"time", Unit::kNanoseconds},
               {"alone", Unit::kNanoseconds},
               {"stretch"},
               {"lost", Unit::kNanoseconds}});
  scope.select(
      "SELECT device_id, direction, count(*), sum(bytes), sum(end_ns - start_ns), sum(solo_ns), "
      "sum(lost_ns), "
      "solo_known_by FROM transfer WHERE " +
          scope.condition("process_id", "device_id", "start_ns") + " GROUP BY 1, 2, 8 ORDER BY 1, 2, 5 DESC",
      [&](trace::Statement& row) {
        std::optional<double> alone, lost;
        row.get(5, alone);
        row.get(6, lost);
        Cell stretch;
        if (alone && *alone > 0) stretch = fmt::format("{:.2f}", row.real(4) / *alone);
        table.add(known_by_of(row.shown(7)), {scope.gpu_name(row.integer(0)), row.shown(1), row.integer(2),
                                              row.integer(3), row.integer(4), alone, stretch, lost});
      });
  return table;
}

const std::map<std::string, const char*>& cause_words() {
  static const std::map<std::string, const char*> words = {
      {"link", "a PCIe link that they share"},
      {"copy_engine", "copies of one process in the same direction at once"},
      {kQueue, "waiting, before they began, for the copy engine"},
      {"host_memory", "host memory: each GPU has a link of its own"},
      {"link_or_host_memory", "a link or host memory: the tree of links is not known"},
      {"pageable", "pageable memory, staged by the driver; pin it"},
      {"numa", "host memory of another NUMA node than the GPU's; numactl binds a job to one"},
      {"collective", "a collective (NCCL) that moves its data through host memory"},
      {"other_process", "traffic that the counters saw and nobody recorded"},
      {"unexplained", "unexplained"}};
  return words;
}

}  // namespace

std::vector<Table> report_contention(const Scope& scope) {
  std::vector<Table> tables = {matrix(scope)};
  if (scope.session().meta("analysis.created")) {
    tables.push_back(kinds(scope));
    if (Table found = windows(scope); !found.rows.empty()) tables.push_back(std::move(found));
  }
  for (Table turns : {turns_table(scope), turn_waits_table(scope)}) {
    if (!turns.rows.empty()) tables.push_back(std::move(turns));
  }
  return tables;
}

std::vector<Table> report_causes(const Scope& scope) {
  Table table("causes", "Why transfers were slower than alone, or late",
              {{"gpu"},
               {"cause"},
               {"what"},
               {"per_iteration", Unit::kNanoseconds},
               {"of_iteration", Unit::kShare},
               {"in_all", Unit::kNanoseconds}});
  if (!analyzed(scope, table)) return {table};
  const Steps steps(scope);
  scope.select(
      fmt::format(
          "SELECT victim_process_id, victim_device_id, resource, {}, min(known_by) FROM contention WHERE {} "
          "GROUP BY 1, 2, 3 ORDER BY 5 DESC",
          kSums, sides(scope)),
      [&](trace::Statement& row) {
        const std::int64_t process = row.integer(0), device = row.integer(1);
        const auto each = steps.each(process, device, row.real(3));
        const auto words = cause_words().find(row.shown(2));
        table.add(known_by_of(row.shown(5)),
                  {scope.gpu_name(device), row.shown(2), words == cause_words().end() ? "" : words->second,
                   each, steps.share(process, device, each), row.real(4)});
      });
  if (table.rows.empty()) table.notes.emplace_back("no time lost is known");
  add_unknown(scope, table);
  if (scope.session().count<trace::AllocationRow>("numa_node >= 0") == 0)
    table.notes.emplace_back(
        "unknown: how far host memory is from each GPU (NUMA); tferry doctor shows the nodes, numactl binds "
        "a "
        "job to one");
  return {table};
}

}  // namespace tferry::cli
