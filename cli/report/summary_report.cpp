#include "cli/report/iteration_times.hpp"
#include "cli/report/memory_profile.hpp"
#include "cli/report/reports.hpp"

#include <fmt/format.h>

namespace tferry::cli {
namespace {

std::string text_or(const std::optional<std::string>& text, const char* otherwise) {
  return text && !text->empty() ? *text : otherwise;
}

Table processes(const Scope& scope) {
  Table table("summary", "Processes",
              {{"process"}, {"rank"}, {"host"}, {"driver"}, {"duration", Unit::kNanoseconds}, {"command"}});
  for (const auto& row :
       scope.session().rows<trace::ProcessRow>("WHERE " + scope.condition("id", "", "") + " ORDER BY id")) {
    if (!row.command && !row.host) continue;  // the sampler, which is no part of the job
    std::optional<std::int64_t> duration;
    if (row.start_ns && row.end_ns && *row.end_ns >= *row.start_ns) duration = *row.end_ns - *row.start_ns;
    Cell driver;
    if (row.driver_version) {
      driver = Cell(fmt::format("{}.{}", *row.driver_version / 1000, *row.driver_version % 1000 / 10));
    }
    table.add(KnownBy::kMeasured, {row.pid, row.rank ? Cell(*row.rank) : Cell("-"), text_or(row.host, "?"),
                                   driver, duration, text_or(row.command, "?")});
  }
  return table;
}

Table gpus(const Scope& scope) {
  Table table("summary", "GPUs",
              {{"gpu"}, {"name"}, {"memory", Unit::kBytes}, {"pcie"}, {"address"}, {"budget", Unit::kBytes}});
  for (const auto& row :
       scope.session().rows<trace::DeviceRow>("WHERE " + scope.condition("", "id", "") + " ORDER BY id")) {
    Cell link;
    if (row.pcie_generation && row.pcie_width) {
      link = Cell(fmt::format("generation {}, x{}", *row.pcie_generation, *row.pcie_width));
    }
    table.add(KnownBy::kMeasured, {scope.gpu_name(row.id), row.name ? Cell(*row.name) : Cell(),
                                   row.memory_bytes, link, row.pci_address ? Cell(*row.pci_address) : Cell(),
                                   row.budget_bytes ? Cell(*row.budget_bytes) : Cell("none")});
  }
  if (table.rows.empty()) table.notes.emplace_back("unknown: no process used a GPU, or none was recorded");
  return table;
}

class Facts {
 public:
  explicit Facts(const Scope& scope) : scope_(scope) {}

  Table make() {
    analysis();  // what people look for first
    memory();
    work();
    const auto lost = scope_.session().count<trace::LossRow>();
    add("kinds of things missing", Cell(lost, Unit::kCount));
    if (lost > 0)
      table_.notes.emplace_back("something is missing from this recording: tferry report quality");
    return std::move(table_);
  }

 private:
  void add(const std::string& fact, Cell value, KnownBy known_by = KnownBy::kMeasured) {
    if (!value.known()) known_by = KnownBy::kUnknown;
    table_.add(known_by, {fact, std::move(value)});
  }
  void add_number(const std::string& fact, const std::optional<std::int64_t>& value, Unit unit,
                  KnownBy known_by = KnownBy::kMeasured) {
    add(fact, value ? Cell(*value, unit) : Cell(), known_by);
  }

  void work() {
    const std::string kernels = scope_.condition("process_id", "device_id", "coalesce(start_ns, call_ns)");
    add_number("kernels", scope_.value<std::int64_t>("SELECT count(*) FROM kernel WHERE " + kernels),
               Unit::kCount);
    add_number("time in kernels",
               scope_.value<std::int64_t>("SELECT sum(end_ns - start_ns) FROM kernel WHERE " + kernels),
               Unit::kNanoseconds);
    for (const auto& [kind, name] : {std::pair{1, "copied to the GPU"}, {2, "copied to the host"}}) {
      add_number(name,
                 scope_.value<std::int64_t>(fmt::format(
                     "SELECT coalesce(sum(bytes), 0) FROM memcpy WHERE kind = {} AND {}", kind, kernels)),
                 Unit::kBytes);
    }
    const auto moved = scope_.value<std::int64_t>("SELECT sum(bytes) FROM swap WHERE " +
                                                  scope_.condition("process_id", "device_id", "submit_ns"));
    if (moved) add_number("moved by the runtime", moved, Unit::kBytes);
    multiprocessors();
  }

  /// By the hardware's counters, whoever used the GPU.
  void multiprocessors() {
    scope_.select(
        "SELECT device_id, sum(CASE string.value WHEN 'sm__cycles_active.avg' THEN counter.value END), "
        "sum(CASE string.value WHEN 'gpc__cycles_elapsed.max' THEN counter.value END), "
        "sum(CASE string.value WHEN 'gpc__cycles_elapsed.max' THEN end_ns - start_ns END) "
        "FROM counter JOIN string ON string.id = counter.name_id "
        "WHERE string.value IN ('sm__cycles_active.avg', 'gpc__cycles_elapsed.max') AND " +
            scope_.condition("", "device_id", "start_ns") + " GROUP BY 1 ORDER BY 1",
        [&](trace::Statement& row) {
          const std::string gpu = scope_.gpu_name(row.integer(0));
          const double cycles = row.real(2), time_ns = row.real(3);
          if (cycles > 0 && !row.is_null(1))
            add("SMs active, GPU " + gpu, Cell(row.real(1) / cycles, Unit::kShare));
          if (cycles > 0 && time_ns > 0)
            add("clock of SMs, GPU " + gpu, Cell(cycles / time_ns * 1e9, Unit::kHertz));
        });
  }

  void memory() {
    const auto profiles = memory_profiles(scope_);
    if (profiles.empty()) add("footprint", Cell());
    for (const MemoryProfile& profile : profiles) {
      add_number(fmt::format("footprint, GPU {}", scope_.gpu_name(profile.device_id)), profile.peak_bytes,
                 Unit::kBytes);
    }
  }

  void analysis() {
    if (!scope_.session().meta("analysis.created")) {
      table_.notes.emplace_back("not analyzed yet: tferry analyze finds iterations, tensors and the bound");
      return;
    }
    for (const IterationTimes& rank : iteration_times(scope_)) {
      const std::string gpu = scope_.gpu_name(rank.device_id);
      add_number(fmt::format("iterations, GPU {}", gpu), rank.iterations, Unit::kCount);
      add_number(fmt::format("iteration, GPU {}", gpu), rank.median_ns, Unit::kNanoseconds);
    }
    lost();
    const std::string where = "WHERE " + scope_.condition("process_id", "device_id", "") + " ORDER BY id";
    for (const auto& row : scope_.session().rows<trace::BoundRow>(where)) {
      add(fmt::format("budget analyzed, GPU {}", scope_.gpu_name(row.device_id)),
          Cell(row.budget_bytes, Unit::kBytes), KnownBy::kAssumed);
      add(fmt::format("bound, GPU {} ({})", scope_.gpu_name(row.device_id), row.resource),
          Cell(row.bound_ns, Unit::kNanoseconds), KnownBy::kSimulated);
    }
    for (const auto& row : scope_.session().rows<trace::RunRow>(where)) {
      const std::string run = fmt::format(
          "run under {}, GPU {}: ", row.plan_id ? fmt::format("plan {}", *row.plan_id) : row.policy,
          scope_.gpu_name(row.device_id));
      add_number(run + "iteration", row.iteration_ns, Unit::kNanoseconds);
      add_number(run + "predicted", row.predicted_ns, Unit::kNanoseconds, KnownBy::kSimulated);
      add_number(run + "bound", row.bound_ns, Unit::kNanoseconds, KnownBy::kSimulated);
      add_number(run + "waits for memory", row.wait_ns, Unit::kNanoseconds);
    }
    for (const auto& row : scope_.session().rows<trace::SimulationRow>(where)) {
      add(fmt::format("{}, GPU {}", row.policy, scope_.gpu_name(row.device_id)),
          Cell(row.predicted_ns, Unit::kNanoseconds), KnownBy::kSimulated);
    }
  }

  /// Time that transfers lost to others, and operations to waiting for memory, in all.
  void lost() {
    scope_.select("SELECT device_id, sum(lost_ns) FROM transfer WHERE " +
                      scope_.condition("process_id", "device_id", "start_ns") + " GROUP BY 1 ORDER BY 1",
                  [&](trace::Statement& row) {
                    add(fmt::format("lost to other transfers, GPU {}", scope_.gpu_name(row.integer(0))),
                        row.is_null(1) ? Cell() : Cell(row.real(1), Unit::kNanoseconds));
                  });
    scope_.select("SELECT device_id, sum(end_ns - start_ns) FROM gate WHERE " +
                      scope_.condition("process_id", "device_id", "start_ns") + " GROUP BY 1 ORDER BY 1",
                  [&](trace::Statement& row) {
                    add(fmt::format("waits for memory, GPU {}", scope_.gpu_name(row.integer(0))),
                        Cell(row.integer(1), Unit::kNanoseconds));
                  });
  }

  const Scope& scope_;
  Table table_{"summary", "Figures", {{"fact"}, {"value"}}};
};

}  // namespace

std::vector<Table> report_summary(const Scope& scope) {
  return {Facts(scope).make(), gpus(scope), processes(scope)};
}

}  // namespace tferry::cli
