#include "analyzer/planner/budget_curve.hpp"

#include "analyzer/bound/bound.hpp"
#include "analyzer/planner/lookahead.hpp"
#include "analyzer/simulator/policies.hpp"

#include <algorithm>
#include <array>

namespace tferry::analyzer {

std::vector<CurvePoint> budget_curve(const Workload& workload, int rounds,
                                     const std::function<void(double)>& on_progress) {
  constexpr std::array kFactors = {1.0, 1.1, 1.2, 1.33, 1.5, 1.75, 2.0, 2.5, 3.0};
  const double simulations = static_cast<double>(kFactors.size()) * (rounds + 1);
  std::int64_t least = 0;
  for (const std::int64_t bytes : working_sets(workload)) least = std::max(least, bytes);
  const auto most = static_cast<double>(footprint(workload));
  std::vector<CurvePoint> points;
  for (const double factor : kFactors) {
    Workload under = workload;
    under.budget = static_cast<std::int64_t>(most / factor);
    if (under.budget < least) break;
    LookaheadOptions options;
    options.rounds = rounds;
    if (on_progress)
      options.on_simulation = [&, done = static_cast<double>(points.size()) * (rounds + 1)]() mutable {
        on_progress(std::min(1.0, ++done / simulations));
      };
    LmsPolicy lms(under);
    points.push_back({factor, under.budget, lower_bound(under).time_ns, simulate(under, lms).time_ns,
                      plan_lookahead(under, options).predicted_ns});
  }
  return points;
}

}  // namespace tferry::analyzer
