#include "analyzer/planner/budget_curve.hpp"

#include "analyzer/workload/transformer.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tferry::analyzer {
namespace {

/// Budgets of 100, 90, 80, ... bytes.
std::vector<CurvePoint> curve(const std::vector<double>& times) {
  std::vector<CurvePoint> points;
  for (const double time : times)
    points.push_back({0, 100 - 10 * static_cast<std::int64_t>(points.size()), 0, 0, time});
  return points;
}

TEST(Knee, IsFurthestBelowTheLineFromTheFirstToTheLastPoint) {
  EXPECT_EQ(knee(curve({100, 100, 100, 200, 300})), 2u);
  EXPECT_EQ(knee(curve({100, 101, 104, 120, 300})), 3u);
  // Scaled to go from 0 to 1: neither units nor an offset matter.
  EXPECT_EQ(knee(curve({1.00, 1.01, 1.04, 1.20, 3.00})), 3u);
}

TEST(Knee, IsNowhereWithoutABend) {
  EXPECT_EQ(knee(curve({100, 150, 200, 250})), std::nullopt) << "straight";
  EXPECT_EQ(knee(curve({100, 190, 199, 200})), std::nullopt)
      << "bent the other way: the first step costs most";
  EXPECT_EQ(knee(curve({100, 100, 100.5, 100.9})), std::nullopt) << "flat";
  EXPECT_EQ(knee(curve({100, 300})), std::nullopt) << "two points";
  EXPECT_EQ(knee(curve({})), std::nullopt);
}

TEST(Knee, IsBetweenTheEndsOfAJobsCurve) {
  const std::vector<CurvePoint> points = budget_curve(transformer_training({.layers = 4}), 4);
  const auto found = knee(points);
  if (!found) return;
  EXPECT_GT(*found, 0u);
  EXPECT_LT(*found + 1, points.size());
}

}  // namespace
}  // namespace tferry::analyzer
