#include "cli/report/reports.hpp"
#include "cli/report/resource_text.hpp"
#include "cli/report/route_text.hpp"

#include <fmt/format.h>

#include <map>

namespace tferry::cli {
namespace {

Table plans(const Scope& scope) {
  Table table("plan", "Plans: an iteration under each",
              {{"plan"},
               {"gpu"},
               {"planner"},
               {"budget", Unit::kBytes},
               {"time", Unit::kNanoseconds},
               {"bound", Unit::kNanoseconds},
               {"in_memory", Unit::kNanoseconds},
               {"over_bound", Unit::kShare},
               {"each_way", Unit::kBytes},
               {"forced", Unit::kBytes},
               {"limited_by"},
               {"chunks", Unit::kCount},
               {"slack", Unit::kShare},
               {"route"}});
  for (const auto& row : scope.session().rows<trace::PlanRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY id")) {
    std::optional<double> over;
    if (row.predicted_ns && row.bound_ns && *row.bound_ns > 0)
      over = static_cast<double>(*row.predicted_ns) / static_cast<double>(*row.bound_ns) - 1;
    std::optional<std::int64_t> forced;  // one way, as what moves is told
    if (row.forced_bytes) forced = *row.forced_bytes / 2;
    const auto resource =
        scope.value<std::string>(fmt::format("SELECT resource FROM simulation WHERE plan_id = {}", row.id));
    table.add(KnownBy::kSimulated, {row.id, scope.gpu_name(row.device_id), row.planner, row.budget_bytes,
                                    row.predicted_ns, row.bound_ns, row.in_memory_ns, over, row.bytes_out,
                                    forced, resource ? Cell(resource_text(*resource)) : Cell("-"),
                                    row.chunk_count, row.slack, row.route.value_or("direct")});
  }
  if (table.rows.empty()) {
    table.notes.emplace_back(
        "unknown: there is no plan; run tferry analyze --budget SIZE or --oversubscribe 1.5");
  } else {
    table.notes.emplace_back(
        "follow one with tferry run --plan SESSION:PLAN PROGRAM...; without :PLAN it is the newest");
  }
  return table;
}

/// Template arguments make names longer than any line.
std::string shortened(const std::string& name) {
  constexpr std::size_t kLongest = 60;
  return name.size() <= kLongest ? name : name.substr(0, kLongest - 3) + "...";
}

/// Names of the operations of an iteration, by position, as the newest analysis has them.
std::map<std::int64_t, std::string> operation_names(const Scope& scope, const trace::PlanRow& plan) {
  std::map<std::int64_t, std::string> names;
  scope.select(fmt::format("SELECT o.position, coalesce(s.value, o.kind) FROM operation AS o "
                           "LEFT JOIN string AS s ON s.id = o.name_id "
                           "WHERE o.position IS NOT NULL AND o.process_id = {} GROUP BY o.position",
                           plan.process_id),
               [&](trace::Statement& row) {
                 std::int64_t position = 0;
                 std::string name;
                 row.get(0, position);
                 row.get(1, name);
                 names[position] = shortened(demangled(name));
               });
  return names;
}

Table movements(const Scope& scope, const trace::PlanRow& plan) {
  Table table("plan", fmt::format("What moves in every iteration under plan {}, largest first", plan.id),
              {{"tensor"},
               {"bytes", Unit::kBytes},
               {"leaves_after"},
               {"back_before"},
               {"leaves_after_operation"},
               {"back_before_operation"}});
  const std::map<std::int64_t, std::string> names = operation_names(scope, plan);
  const auto name = [&names](std::int64_t position) {
    const auto found = names.find(position);
    return found == names.end() ? Cell("-") : Cell(found->second);
  };
  std::int64_t moves = 0;
  scope.select(
      fmt::format("SELECT park.tensor, park.bytes, park.after_position, fetch.before_position "
                  "FROM plan_action AS park LEFT JOIN plan_action AS fetch "
                  "ON fetch.plan_id = park.plan_id AND fetch.number = park.number + 1 AND fetch.kind = 2 "
                  "WHERE park.plan_id = {} AND park.kind = 1 ORDER BY park.bytes DESC, park.number",
                  plan.id),
      [&](trace::Statement& row) {
        ++moves;
        if (scope.top() > 0 && moves > scope.top()) return;
        std::optional<std::string> tensor;
        std::int64_t bytes = 0, after = 0;
        std::optional<std::int64_t> before;
        row.get(0, tensor);
        row.get(1, bytes);
        row.get(2, after);
        row.get(3, before);
        table.add(KnownBy::kSimulated,
                  {tensor ? Cell(*tensor) : Cell("-"), bytes, after, before ? Cell(*before) : Cell("never"),
                   name(after), before ? name(*before) : Cell("freed while away")});
      });
  if (plan.link_h2d_bytes_per_second && plan.link_d2h_bytes_per_second) {
    table.notes.push_back(fmt::format("contents go {}: {:.1f} GB/s in, {:.1f} GB/s out, {}",
                                      route_text(plan.route), *plan.link_h2d_bytes_per_second / 1e9,
                                      *plan.link_d2h_bytes_per_second / 1e9,
                                      plan.link_known_by.value_or("not told how that is known")));
  }
  table.notes.push_back(moves == 0
                            ? std::string("nothing: everything fits")
                            : fmt::format("{} moves; positions count the iteration's operations", moves));
  return table;
}

Table runs(const Scope& scope) {
  Table table("plan", "Runs under plans: a followed iteration",
              {{"plan"},
               {"gpu"},
               {"measured", Unit::kNanoseconds},
               {"predicted", Unit::kNanoseconds},
               {"bound", Unit::kNanoseconds},
               {"iterations", Unit::kCount},
               {"followed", Unit::kCount},
               {"operations_followed", Unit::kShare},
               {"actions_planned", Unit::kCount},
               {"actions_used", Unit::kCount},
               {"in", Unit::kBytes},
               {"out", Unit::kBytes},
               {"late_fetches", Unit::kCount},
               {"mappings", Unit::kCount},
               {"route"}});
  for (const auto& row : scope.session().rows<trace::RunRow>(
           "WHERE " + scope.condition("process_id", "device_id", "") + " ORDER BY id")) {
    table.add(KnownBy::kMeasured,
              {row.plan_id.value_or(0), scope.gpu_name(row.device_id), row.iteration_ns, row.predicted_ns,
               row.bound_ns, row.iterations, row.iterations_followed, row.followed, row.actions_planned,
               row.actions_used, row.bytes_in, row.bytes_out, row.late_fetches, row.mappings,
               row.route ? Cell(*row.route) : Cell()});
  }
  return table;
}

}  // namespace

std::vector<Table> report_plan(const Scope& scope) { return report_plan_of(scope, std::nullopt); }

std::vector<Table> report_plan_of(const Scope& scope, std::optional<std::int64_t> plan) {
  std::vector<Table> tables = {plans(scope)};
  const auto shown =
      plan ? scope.session().first<trace::PlanRow>("WHERE id = ?", *plan)
           : scope.session().first<trace::PlanRow>("WHERE " + scope.condition("process_id", "device_id", "") +
                                                   " ORDER BY id DESC LIMIT 1");
  if (shown) tables.push_back(movements(scope, *shown));
  Table outcome = runs(scope);
  if (!outcome.rows.empty()) tables.push_back(std::move(outcome));
  return tables;
}

}  // namespace tferry::cli
