#include "cli/report/compare_report.hpp"

#include "cli/report/iteration_times.hpp"
#include "cli/report/memory_profile.hpp"
#include "cli/report/reports.hpp"
#include "cli/report/turns_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tferry::cli {
namespace {

struct Figure {
  std::optional<double> above, below;
  Unit unit = Unit::kNanoseconds;
};

/// In the order in which they are told.
enum Measure { kIteration, kKernels, kIn, kInTime, kOut, kOutTime, kSyncs, kGates, kLost, kPeak, kMeasures };
constexpr const char* kNames[kMeasures] = {"iteration",
                                           "time in kernels",
                                           "copied to the GPU",
                                           "time of copies to the GPU",
                                           "copied to the host",
                                           "time of copies to the host",
                                           "program waited for the GPU",
                                           "waits for memory",
                                           "lost to other transfers",
                                           "memory at the peak"};

struct Kernel {
  double ns = 0, calls = 0;
};

/// One session, summed up by GPU number.
struct Sums {
  std::map<std::string, std::map<int, double>> by_gpu;
  std::map<std::string, Kernel> kernels;
  bool per_iteration = true;
};

class Summing {
 public:
  explicit Summing(const Scope& scope, bool per_iteration) : scope_(scope) {
    sums_.per_iteration = per_iteration;
    if (!per_iteration) return;
    for (const IterationTimes& rank : iteration_times(scope)) {
      const std::string gpu = scope.gpu_name(rank.device_id);
      counts_[gpu] = static_cast<double>(rank.iterations);
      processes_[rank.process_id] = gpu;
      if (rank.median_ns) sums_.by_gpu[gpu][kIteration] = static_cast<double>(*rank.median_ns);
    }
  }

  Sums make() {
    const std::string timed = "WHERE end_ns IS NOT NULL";
    sum(kKernels, "SELECT device_id, sum(end_ns - start_ns) FROM kernel " + within(timed) + " GROUP BY 1");
    for (const auto& [kind, bytes, time] : {std::tuple(1, kIn, kInTime), {2, kOut, kOutTime}}) {
      const std::string copies = within(timed + " AND kind = " + std::to_string(kind)) + " GROUP BY 1";
      sum(bytes, "SELECT device_id, sum(bytes) FROM memcpy " + copies);
      sum(time, "SELECT device_id, sum(end_ns - start_ns) FROM memcpy " + copies);
    }
    sum(kGates, "SELECT device_id, sum(end_ns - start_ns) FROM gate " + within(timed) + " GROUP BY 1");
    sum(kLost, "SELECT device_id, sum(lost_ns) FROM transfer " + within(timed) + " GROUP BY 1");
    syncs();
    for (const MemoryProfile& profile : memory_profiles(scope_))
      sums_.by_gpu[scope_.gpu_name(profile.device_id)][kPeak] = static_cast<double>(profile.peak_bytes);
    kernels();
    return std::move(sums_);
  }

 private:
  /// Of the iterations only: before and after them jobs load and store.
  std::string within(const std::string& where) const {
    if (!sums_.per_iteration) return where;
    return where +
           " AND start_ns >= (SELECT min(start_ns) FROM iteration) AND start_ns < (SELECT max(end_ns) FROM "
           "iteration)";
  }
  double each(const std::string& gpu, double sum) const {
    const auto count = counts_.find(gpu);
    return count == counts_.end() || count->second == 0 ? sum : sum / count->second;
  }
  void sum(Measure measure, const std::string& sql) {
    scope_.select(sql, [&](trace::Statement& row) {
      if (row.is_null(0) || row.is_null(1)) return;
      const std::string gpu = scope_.gpu_name(row.integer(0));
      sums_.by_gpu[gpu][measure] = each(gpu, row.real(1));
    });
  }
  /// Waits belong to a process, not to a GPU; those of processes with one GPU are told at it.
  void syncs() {
    scope_.select("SELECT process_id, sum(end_ns - start_ns) FROM sync " +
                      within("WHERE end_ns IS NOT NULL") + " GROUP BY 1",
                  [&](trace::Statement& row) {
                    const auto gpu = processes_.find(row.integer(0));
                    if (gpu != processes_.end())
                      sums_.by_gpu[gpu->second][kSyncs] = each(gpu->second, row.real(1));
                  });
  }
  void kernels() {
    scope_.select(
        "SELECT device_id, string.value, count(*), sum(end_ns - start_ns) FROM kernel JOIN string ON "
        "string.id = name_id " +
            within("WHERE end_ns IS NOT NULL") + " GROUP BY 1, 2",
        [&](trace::Statement& row) {
          const std::string gpu = scope_.gpu_name(row.integer(0));
          Kernel& kernel = sums_.kernels[demangled(row.shown(1))];
          kernel.calls += each(gpu, row.real(2));
          kernel.ns += each(gpu, row.real(3));
        });
  }

  const Scope& scope_;
  Sums sums_;
  std::map<std::string, double> counts_;
  std::map<std::int64_t, std::string> processes_;
};

void add_row(Table& table, const std::string& gpu, const char* what, const Figure& figure) {
  Cell above, below, difference, share;
  if (figure.above) above = Cell(*figure.above, figure.unit);
  if (figure.below) below = Cell(*figure.below, figure.unit);
  if (figure.above && figure.below) {
    difference = Cell(*figure.below - *figure.above, figure.unit);
    if (*figure.above > 0) share = Cell(*figure.below / *figure.above - 1, Unit::kShare);
  }
  std::vector<Cell> cells;
  cells.emplace_back(gpu);
  cells.emplace_back(what);
  for (Cell* cell : {&above, &below, &difference, &share}) cells.push_back(std::move(*cell));
  table.add(KnownBy::kMeasured, std::move(cells));
}

std::optional<double> value_of(const Sums& sums, const std::string& gpu, int measure) {
  const auto of_gpu = sums.by_gpu.find(gpu);
  if (of_gpu == sums.by_gpu.end()) return std::nullopt;
  const auto value = of_gpu->second.find(measure);
  if (value == of_gpu->second.end()) return std::nullopt;
  return value->second;
}

Table by_gpu(const Sums& above, const Sums& below) {
  Table table("compare",
              above.per_iteration ? "Differences per iteration: below minus above"
                                  : "Differences in all: below minus above",
              {{"gpu"}, {"what"}, {"above"}, {"below"}, {"difference"}, {"share", Unit::kShare}});
  std::map<std::string, bool> gpus;
  for (const Sums* sums : {&above, &below}) {
    for (const auto& [gpu, values] : sums->by_gpu) gpus[gpu] = true;
  }
  for (const auto& [gpu, there] : gpus) {
    for (int measure = 0; measure < kMeasures; ++measure) {
      Figure figure;
      figure.above = value_of(above, gpu, measure);
      figure.below = value_of(below, gpu, measure);
      if (!figure.above && !figure.below) continue;
      const bool bytes = measure == kIn || measure == kOut || measure == kPeak;
      figure.unit = bytes ? Unit::kBytes : Unit::kNanoseconds;
      // What one session has and the other has no row of was zero there, but for what was not measured at
      // all.
      const bool counted = measure != kIteration && measure != kPeak && measure != kLost;
      if (counted && !figure.above && above.by_gpu.contains(gpu)) figure.above = 0;
      if (counted && !figure.below && below.by_gpu.contains(gpu)) figure.below = 0;
      add_row(table, gpu, kNames[measure], figure);
    }
  }
  if (!above.per_iteration)
    table.notes.emplace_back("in all, because one of them has no iterations; tferry analyze finds them");
  return table;
}

using Pairs = std::map<std::string, std::optional<double>>;

/// What a figure is about, in the words of its row, and how much it is per iteration.
Pairs pairs_of(const Scope& scope) {
  Pairs pairs;
  const auto text = [](const Cell& cell) {
    const auto* word = std::get_if<std::string>(&cell.value);
    const auto* number = std::get_if<std::int64_t>(&cell.value);
    return word != nullptr ? *word : number != nullptr ? std::to_string(*number) : std::string("?");
  };
  const auto number = [](const Cell& cell) -> std::optional<double> {
    const auto* value = std::get_if<double>(&cell.value);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  };
  for (const Table& table : find_report("contention").make(scope)) {
    for (const Row& row : table.rows) {
      if (table.name == "contention" && table.columns[1].name == "lost_to")
        pairs["GPU " + text(row.cells[0]) + " loses to " + text(row.cells[1]) + ", " + text(row.cells[2])] =
            number(row.cells[3]);
      if (table.name == "turn_waits")
        pairs["rank " + text(row.cells[2]) + " waits for turns of rank " + text(row.cells[3]) + " on link " +
              text(row.cells[0]) + ", " + text(row.cells[1])] = number(row.cells[5]);
    }
  }
  return pairs;
}

Table by_pair(const Scope& above, const Scope& below) {
  Table table("compare", "Who loses time to whom, per iteration",
              {{"what"},
               {"above", Unit::kNanoseconds},
               {"below", Unit::kNanoseconds},
               {"difference", Unit::kNanoseconds}});
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> both;
  for (const auto& [what, time] : pairs_of(above)) both[what].first = time;
  for (const auto& [what, time] : pairs_of(below)) both[what].second = time;
  const auto cell = [](const std::optional<double>& time) { return time ? Cell(*time) : Cell(); };
  for (const auto& [what, times] : both) {
    const auto& [one, other] = times;
    table.add(KnownBy::kMeasured,
              {what, cell(one), cell(other), one && other ? Cell(*other - *one) : Cell()});
  }
  return table;
}

Table by_kernel(const Sums& above, const Sums& below) {
  Table table("compare", "Kernels whose time differs most, all GPUs together",
              {{"name"},
               {"calls_above"},
               {"calls_below"},
               {"above", Unit::kNanoseconds},
               {"below", Unit::kNanoseconds},
               {"difference", Unit::kNanoseconds}});
  std::map<std::string, std::pair<Kernel, Kernel>> both;
  for (const auto& [name, kernel] : above.kernels) both[name].first = kernel;
  for (const auto& [name, kernel] : below.kernels) both[name].second = kernel;
  std::vector<std::pair<std::string, std::pair<Kernel, Kernel>>> rows(both.begin(), both.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second.second.ns - a.second.first.ns) >
           std::abs(b.second.second.ns - b.second.first.ns);
  });
  for (const auto& [name, pair] : rows)
    table.add(KnownBy::kMeasured, {name, pair.first.calls, pair.second.calls, pair.first.ns, pair.second.ns,
                                   pair.second.ns - pair.first.ns});
  return table;
}

}  // namespace

std::vector<Table> compare_sessions(const Scope& above, const Scope& below) {
  const auto has = [](const Scope& scope) { return !iteration_times(scope).empty(); };
  const bool each = has(above) && has(below);
  const Sums a = Summing(above, each).make(), b = Summing(below, each).make();
  std::vector<Table> tables = {by_gpu(a, b)};
  if (Table pairs = by_pair(above, below); !pairs.rows.empty()) tables.push_back(std::move(pairs));
  tables.push_back(by_kernel(a, b));
  return tables;
}

}  // namespace tferry::cli
