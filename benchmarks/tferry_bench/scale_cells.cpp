#include "benchmarks/tferry_bench/scale_cells.hpp"

#include "analyzer/bound/rank_bound.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/planner/plan_policy.hpp"
#include "analyzer/simulator/ranks.hpp"
#include "analyzer/workload/transformer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>

namespace tferry::benchmarks {
namespace {

using namespace analyzer;

constexpr double kFactor = 1.5;

struct Layout {
  std::size_t hosts, gpus, gpus_per_link;
};
const Layout kLayouts[] = {{1, 4, 4}, {1, 4, 2}, {1, 8, 8},  {1, 8, 2},
                           {1, 8, 4}, {4, 8, 4}, {16, 8, 4}, {64, 8, 4}};
const std::uint64_t kEvery[] = {1, 4};

/// One rank's: as fast as it is.
Workload of_rank(const Workload& workload, std::size_t rank, double spread) {
  Workload own = workload;
  std::mt19937 random(static_cast<std::uint32_t>(rank) + 1);
  for (Operation& operation : own.operations) {
    const double at = static_cast<double>(random() % 2001) / 1000 - 1;  // -1 to 1
    operation.duration_ns = std::llround(static_cast<double>(operation.duration_ns) * (1 + spread * at));
  }
  return own;
}

double simulated(const std::vector<Workload>& workloads, const Plan& plan, const Layout& layout,
                 std::uint64_t every, Sharing sharing) {
  const std::size_t count = layout.hosts * layout.gpus;
  RankOptions options;
  options.sharing = sharing;
  options.iterations_per_round = every;
  options.rounds = every == 1 ? 6 : 3;
  options.links.assign(count / layout.gpus_per_link, workloads.front().link);
  std::vector<std::unique_ptr<Uses>> uses;
  std::vector<std::unique_ptr<Policy>> policies;
  std::vector<SimulatedRank> ranks;
  for (std::size_t r = 0; r < count; ++r) {
    uses.push_back(std::make_unique<Uses>(workloads[r]));
    policies.push_back(std::make_unique<PlanPolicy>(workloads[r], *uses.back(), plan));
    ranks.push_back({&workloads[r], policies.back().get(), r / layout.gpus_per_link});
  }
  return simulate_ranks(ranks, options).time_ns;
}

nlohmann::json measurement(const std::string& claim, double value, const std::string& command,
                           const std::string& note) {
  return {{"claim", "coordination." + claim},
          {"kind", "simulated"},
          {"metric", "value"},
          {"command", command},
          {"note", note},
          {"subject", {{"label", "simulated"}, {"samples", {value}}}}};
}

}  // namespace

std::vector<ScaleCell> run_scale_cells(int rounds, double spread, void (*progress)(const std::string&)) {
  Workload workload = transformer_training({});
  workload.budget = static_cast<std::int64_t>(static_cast<double>(footprint(workload)) / kFactor);
  LookaheadOptions options;
  options.rounds = rounds;
  const Plan plan = plan_lookahead(workload, options);
  std::vector<ScaleCell> cells;
  for (const Layout& layout : kLayouts) {
    std::vector<Workload> workloads;
    for (std::size_t r = 0; r < layout.hosts * layout.gpus; ++r)
      workloads.push_back(of_rank(workload, r, spread));
    for (const std::uint64_t every : kEvery) {
      progress(fmt::format("{} hosts of {} GPUs, {} on a link, every {}", layout.hosts, layout.gpus,
                           layout.gpus_per_link, every));
      const std::vector<const Workload*> together(layout.gpus_per_link, &workload);
      cells.push_back({layout.hosts, layout.gpus, layout.gpus_per_link, every,
                       simulated(workloads, plan, layout, every, Sharing::kFair),
                       simulated(workloads, plan, layout, every, Sharing::kBehind),
                       rank_bound(together, workload.link, every).time_ns});
    }
  }
  return cells;
}

std::string scale_as_markdown(const std::vector<ScaleCell>& cells) {
  std::string text =
      "| hosts | GPUs each | on a link | every | bound, ms | fair, ms | behind, ms | gain "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const ScaleCell& cell : cells) {
    text += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.3f} |\n", cell.hosts, cell.gpus,
                        cell.gpus_per_link, cell.iterations_per_round, cell.bound_ns * 1e-6,
                        cell.fair_ns * 1e-6, cell.behind_ns * 1e-6, cell.fair_ns / cell.behind_ns);
  }
  return text;
}

nlohmann::json scale_as_measurements(const std::vector<ScaleCell>& cells, const std::string& command) {
  nlohmann::json all = nlohmann::json::array();
  for (const std::uint64_t every : kEvery) {
    double one = 0, most = 0;
    for (const ScaleCell& cell : cells) {
      if (cell.iterations_per_round != every) continue;
      if (cell.hosts == 1) {
        all.push_back(measurement(
            fmt::format("simulated_gain/{}_gpus_{}_on_a_link/{}", cell.gpus, cell.gpus_per_link, every),
            cell.fair_ns / cell.behind_ns, command,
            "fair sharing over turns, who is behind first; the same plan"));
      }
      if (cell.gpus != 8 || cell.gpus_per_link != 4) continue;
      if (cell.hosts == 1) one = cell.behind_ns;
      most = cell.behind_ns;
    }
    if (one > 0) {
      all.push_back(measurement(fmt::format("simulated_hosts/{}", every), most / one, command,
                                "an iteration on 64 hosts over one on one host, taking turns"));
    }
  }
  return all;
}

}  // namespace tferry::benchmarks
