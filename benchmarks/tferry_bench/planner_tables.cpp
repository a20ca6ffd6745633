// What the planner cells say: tables, and claims for results.
#include "benchmarks/tferry_bench/planner_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace tferry::benchmarks {
namespace {

using analyzer::Coordination;

/// Where two ranks keep the link busy for at least this share.
constexpr double kBusy = 0.7;
/// Where modes differ by less, the choice between them is no matter.
constexpr double kModesDiffer = 1.03;

struct Mean {
  double logarithms = 0;
  std::size_t count = 0;
  void add(double value) { logarithms += std::log(value), ++count; }
  std::optional<double> geometric() const {
    return count == 0 ? std::nullopt : std::optional(std::exp(logarithms / static_cast<double>(count)));
  }
};

double worst_mode(const RanksCell& cell) {
  double most = 0;
  for (const auto& [mode, time] : cell.lookahead) most = std::max(most, time);
  return most;
}

struct Regret {
  double mean = 0, worst = 0;
  std::size_t cells = 0;
};

/// Of a choice, over the cells in which modes differ.
Regret regret(const PlannerCells& cells, const std::function<Coordination(const RanksCell&)>& choose) {
  Regret result;
  for (const RanksCell& cell : cells.ranks) {
    if (worst_mode(cell) < kModesDiffer * cell.best()) continue;
    const double lost = cell.lookahead.at(choose(cell)) / cell.best() - 1;
    result.mean += lost;
    result.worst = std::max(result.worst, lost);
    ++result.cells;
  }
  if (result.cells > 0) result.mean /= static_cast<double>(result.cells);
  return result;
}

Regret best_constant(const PlannerCells& cells) {
  Regret best{1e9, 0, 0};
  for (const Coordination mode : analyzer::all_coordinations()) {
    const Regret one = regret(cells, [mode](const RanksCell&) { return mode; });
    if (one.mean < best.mean) best = one;
  }
  return best;
}

Regret chosen(const PlannerCells& cells) {
  return regret(cells, [](const RanksCell& cell) { return cell.chosen; });
}

/// Coordinated against fair sharing of the same plan, where the link is busy.
Mean gain(const PlannerCells& cells, bool every_iteration) {
  Mean mean;
  for (const RanksCell& cell : cells.ranks) {
    if (cell.link_busy < kBusy || (cell.layout.iterations_per_round == 1) != every_iteration) continue;
    mean.add(cell.lookahead.at(Coordination::kFair) / cell.best());
  }
  return mean;
}

/// The most that the bound leaves of it.
Mean gain_at_bound(const PlannerCells& cells, bool every_iteration) {
  Mean mean;
  for (const RanksCell& cell : cells.ranks) {
    if (cell.link_busy < kBusy || (cell.layout.iterations_per_round == 1) != every_iteration) continue;
    mean.add(cell.lookahead.at(Coordination::kFair) / cell.bound_ns);
  }
  return mean;
}

Mean against_lms(const PlannerCells& cells, double factor) {
  Mean mean;
  for (const RanksCell& cell : cells.ranks) {
    if (cell.factor == factor) mean.add(cell.lms_fair / cell.best());
  }
  return mean;
}

Mean over_bound(const PlannerCells& cells, const std::string& policy) {
  Mean mean;
  for (const SingleCell& cell : cells.singles) mean.add(cell.time_ns.at(policy) / cell.bound_ns);
  return mean;
}

/// Of the two plans of interleave, which do not depend on how many GPUs there are: the first cell of each job
/// and factor.
std::vector<const RanksCell*> overlaps(const PlannerCells& cells) {
  std::vector<const RanksCell*> found;
  for (const RanksCell& cell : cells.ranks) {
    if (found.empty() || found.back()->job != cell.job || found.back()->factor != cell.factor)
      found.push_back(&cell);
  }
  return found;
}

}  // namespace

std::string cells_as_markdown(const PlannerCells& cells) {
  std::string text = "| job | times | bound, ms |";
  const auto& policies = cells.singles.front().time_ns;
  for (const auto& [policy, time] : policies) text += fmt::format(" {} |", policy);
  text += " bytes over forced |\n|---|---|---|";
  for (std::size_t i = 0; i <= policies.size(); ++i) text += "---|";
  text += "\n";
  for (const SingleCell& cell : cells.singles) {
    text += fmt::format("| {} | {} | {:.1f} |", cell.job, cell.factor, cell.bound_ns * 1e-6);
    for (const auto& [policy, time] : cell.time_ns) text += fmt::format(" {:.3f} |", time / cell.bound_ns);
    text += fmt::format(" {:.3f} |\n", cell.moved_over_forced);
  }
  text +=
      "\n| job | times | GPUs | every | bound, ms | link busy | lms fair | lms interleave | lms orchestrate "
      "| lookahead fair "
      "| interleave | deadline | priority | rotating | behind | skewed | chosen |\n|";
  for (int i = 0; i < 17; ++i) text += "---|";
  text += "\n";
  for (const RanksCell& cell : cells.ranks) {
    const auto over = [&](double time) { return time / cell.bound_ns; };
    text += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.0f} % | {:.2f} | {:.2f} | {:.2f} |", cell.job,
                        cell.factor, cell.layout.gpus, cell.layout.iterations_per_round, cell.bound_ns * 1e-6,
                        cell.link_busy * 100, over(cell.lms_fair), over(cell.lms_interleave),
                        over(cell.lms_orchestrate));
    for (const Coordination mode : analyzer::all_coordinations()) {
      text += fmt::format(" {:.2f} |", over(cell.lookahead.at(mode)));
    }
    text += fmt::format(" {} |\n", coordination_name(cell.chosen));
  }
  text += "\n| job | times | interleave: bytes that both plans move at the same time |\n|---|---|---|\n";
  for (const RanksCell* cell : overlaps(cells))
    text += fmt::format("| {} | {} | {:.1f} % |\n", cell->job, cell->factor, cell->overlap * 100);
  const Regret ours = chosen(cells), constant = best_constant(cells);
  text += fmt::format(
      "\nChosen mode: mean regret {:.3f}, worst {:.3f}; the best constant choice {:.3f}, {:.3f}; over {} "
      "cells "
      "in which modes differ by 3 %.\n",
      ours.mean, ours.worst, constant.mean, constant.worst, ours.cells);
  return text;
}

nlohmann::json cells_as_measurements(const PlannerCells& cells, const std::string& command) {
  nlohmann::json all = nlohmann::json::array();
  const auto add = [&](const std::string& claim, std::optional<double> value, const std::string& note) {
    if (!value) return;
    all.push_back({{"claim", "analyzer." + claim},
                   {"kind", "simulated"},
                   {"metric", "value"},
                   {"command", command},
                   {"note", note},
                   {"subject", {{"label", "simulated"}, {"samples", {*value}}}}});
  };
  for (const auto& [policy, time] : cells.singles.front().time_ns) {
    const Mean mean = over_bound(cells, policy);
    add("over_bound/" + policy, mean.geometric(),
        fmt::format("simulated time over bound on one GPU, geometric mean of {} cells", mean.count));
  }
  double bytes = 0;
  Mean pump;
  for (const SingleCell& cell : cells.singles) {
    bytes = std::max(bytes, cell.moved_over_forced);
    pump.add(cell.time_ns.at("naive-um") / cell.time_ns.at("pump"));
  }
  add("bytes_over_forced", bytes,
      "bytes that lookahead moves over those that the bound forces, the most of all cells");
  add("pump_vs_naive_um", pump.geometric(),
      "naive-um over pump, simulated at 12 GB/s of eviction by the driver and 11 GB/s by prefetch to the "
      "host");
  for (const bool every : {true, false}) {
    const Mean mean = gain(cells, every);
    add(every ? "coordinated_vs_fair/sync1" : "coordinated_vs_fair/sync4", mean.geometric(),
        fmt::format("fair sharing over the best mode, same plan, geometric mean of {} cells in which two "
                    "ranks keep the link "
                    "70 % busy; the bound leaves {:.3f}",
                    mean.count, gain_at_bound(cells, every).geometric().value_or(1)));
  }
  for (const double factor : {1.33, 2.0}) {
    const Mean mean = against_lms(cells, factor);
    add(fmt::format("vs_lms_fair/{}", factor == 2.0 ? "2" : "1.33"), mean.geometric(),
        fmt::format("lms (least recently used, a little ahead of need) under fair sharing over lookahead in "
                    "its best mode, "
                    "geometric mean of {} cells",
                    mean.count));
  }
  double overlap = 0, least = 1, most = 0;
  const std::vector<const RanksCell*> pairs = overlaps(cells);
  for (const RanksCell* cell : pairs) {
    overlap += cell->overlap / static_cast<double>(pairs.size());
    least = std::min(least, cell->overlap);
    most = std::max(most, cell->overlap);
  }
  add("interleave_overlap", overlap,
      fmt::format(
          "share of the bytes of interleave's second plan that the first one moves in the same gaps, mean "
          "of {} jobs and budgets, {:.3f} to {:.3f}",
          pairs.size(), least, most));
  const Regret ours = chosen(cells), constant = best_constant(cells);
  const std::string note = fmt::format(
      "of the mode chosen by brief simulations, over {} cells in which modes differ by 3 %; the "
      "best constant choice has {:.4f} on average, {:.4f} at worst",
      ours.cells, constant.mean, constant.worst);
  add("mode_regret/mean", ours.mean, note);
  add("mode_regret/worst", ours.worst, note);
  return all;
}

nlohmann::json duration_measurement(double ns, const std::string& command, const std::string& load) {
  return {{"claim", "analyzer.planners_core"},
          {"kind", "measured"},
          {"metric", "time"},
          {"command", command},
          {"note", fmt::format("wall clock of all cells, three threads on two cores; {} before", load)},
          {"subject", {{"label", "all cells"}, {"samples_ns", {ns}}}}};
}

}  // namespace tferry::benchmarks
