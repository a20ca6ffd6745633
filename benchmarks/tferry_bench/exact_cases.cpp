#include "benchmarks/tferry_bench/exact_cases.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/simulator/policies.hpp"
#include "analyzer/workload/slot_workload.hpp"
#ifdef TFERRY_HAVE_CBC
#include "analyzer/exact/slot_program.hpp"
#endif

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace tferry::benchmarks {
namespace {

using namespace analyzer;

LookaheadOptions planner(const Slots& slots, int rounds) {
  LookaheadOptions options;
  options.rounds = rounds;
  options.simulation.chunk_bytes = slots.chunk_bytes;
  options.simulation.chunk_latency_ns = 0;
  return options;
}

double planned_slots(const Workload& workload, const Slots& slots, int rounds) {
  return plan_lookahead(workload, planner(slots, rounds)).predicted_ns / static_cast<double>(slots.slot_ns);
}

constexpr double kWorst = 1.05;  ///< aimed at

#ifdef TFERRY_HAVE_CBC
constexpr double kWorthPlanning = 1.15;

std::int64_t slots_at_least(double slots) { return static_cast<std::int64_t>(std::ceil(slots - 1e-6)); }
#endif

}  // namespace

std::vector<ExactCase> read_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::vector<ExactCase> cases;
  for (ExactCase one; in >> one.seed >> one.period;) cases.push_back(one);
  if (!in.eof() || cases.empty()) throw std::runtime_error(path + ": holds something else than SEED PERIOD");
  return cases;
}

void make_cases(std::uint32_t first_seed, std::size_t count, double seconds,
                void (*found)(const ExactCase&)) {
#ifdef TFERRY_HAVE_CBC
  const Slots slots;
  for (std::uint32_t seed = first_seed; count > 0; ++seed) {
    const Workload workload = slot_workload(seed, slots);
    OnDemandPolicy policy(workload);
    const double on_demand =
        simulate(workload, policy, planner(slots, 1).simulation).time_ns / static_cast<double>(slots.slot_ns);
    const double bound = lower_bound(workload).time_ns / static_cast<double>(slots.slot_ns);
    if (on_demand < kWorthPlanning * bound) continue;
    const double planned = planned_slots(workload, slots, 400);
    const auto period =
        shortest_period(workload, slots, slots_at_least(bound), slots_at_least(planned), seconds);
    if (!period || on_demand < kWorthPlanning * static_cast<double>(*period)) continue;
    found({seed, *period});
    --count;
  }
#else
  static_cast<void>(first_seed), static_cast<void>(count), static_cast<void>(seconds),
      static_cast<void>(found);
  throw std::runtime_error("this tferry-bench was built without CBC, so it has no exact solver");
#endif
}

std::vector<ExactRatio> ratios_to_exact(const std::vector<ExactCase>& cases, int rounds, double seconds) {
  const Slots slots;
  std::vector<ExactRatio> ratios;
  for (const ExactCase& one : cases) {
    const Workload workload = slot_workload(one.seed, slots);
    const double planned = planned_slots(workload, slots, rounds);
    const double ratio = planned / static_cast<double>(one.period);
    ratios.push_back({ratio, ratio});
#ifdef TFERRY_HAVE_CBC
    if (ratio <= kWorst) continue;
    if (const auto period =
            shortest_period(workload, slots, one.period, slots_at_least(planned), seconds, Copies::kEnd))
      ratios.back().without_copies_ahead = planned / static_cast<double>(*period);
#else
    static_cast<void>(seconds);
#endif
  }
  return ratios;
}

nlohmann::json exact_measurements(const std::vector<ExactRatio>& ratios, const std::string& command) {
  double sum = 0, worst = 0, worst_without = 0;
  std::size_t beyond = 0, beyond_without = 0;
  for (const ExactRatio& ratio : ratios) {
    sum += ratio.all;
    worst = std::max(worst, ratio.all);
    worst_without = std::max(worst_without, ratio.without_copies_ahead);
    beyond += ratio.all > kWorst;
    beyond_without += ratio.without_copies_ahead > kWorst;
  }
  const std::string note = fmt::format(
      "lookahead's simulated time over the shortest period that CBC proved, {} small cases on which "
      "on-demand is at "
      "least 15 % off; {} of them are more than 5 % off, {} if nothing may be copied out ahead of the gap in "
      "which it "
      "leaves",
      ratios.size(), beyond, beyond_without);
  const auto measurement = [&](const char* claim, double value) {
    return nlohmann::json{{"claim", claim},
                          {"kind", "simulated"},
                          {"metric", "value"},
                          {"command", command},
                          {"note", note},
                          {"subject", {{"label", "lookahead"}, {"samples", {value}}}},
                          {"checks",
                           {{"cases", ratios.size()},
                            {"beyond_5_percent", beyond},
                            {"beyond_without_copies_ahead", beyond_without},
                            {"worst_without_copies_ahead", worst_without}}}};
  };
  return {measurement("analyzer.vs_exact/average", sum / static_cast<double>(ratios.size())),
          measurement("analyzer.vs_exact/worst", worst)};
}

}  // namespace tferry::benchmarks
