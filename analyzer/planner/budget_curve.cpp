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

std::optional<std::size_t> knee(std::span<const CurvePoint> points) {
  constexpr double kFlat = 0.01, kStraight = 0.02;
  if (points.size() < 3) return std::nullopt;
  const auto [least, most] = std::minmax_element(
      points.begin(), points.end(),
      [](const CurvePoint& a, const CurvePoint& b) { return a.planned_ns < b.planned_ns; });
  if (most->planned_ns < (1 + kFlat) * least->planned_ns) return std::nullopt;
  const CurvePoint &first = points.front(), &last = points.back();
  const double budgets = static_cast<double>(first.budget - last.budget);
  const double times = last.planned_ns - first.planned_ns;
  if (budgets <= 0 || times <= 0) return std::nullopt;
  std::optional<std::size_t> found;
  double furthest = kStraight;
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double taken = static_cast<double>(first.budget - points[i].budget) / budgets;
    const double lost = (points[i].planned_ns - first.planned_ns) / times;
    if (taken - lost > furthest) found = i, furthest = taken - lost;
  }
  return found;
}

}  // namespace tferry::analyzer
