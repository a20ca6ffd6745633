#include "cli/calibration/machine_routes.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

TEST(SlowestRoutes, AreTheLeastOfAllGpus) {
  trace::Calibration calibration;
  calibration.gpus = {{.ordinal = 0}, {.ordinal = 1}, {.ordinal = 2}};
  for (const int gpu : {0, 1}) {
    for (const char* direction : {"h2d", "d2h", "both"}) {
      calibration.figures.push_back({.what = "relay",
                                     .gpus = {gpu, 1 - gpu},
                                     .gpu = -1,
                                     .direction = direction,
                                     .memory = "pinned",
                                     .beside = "direct",
                                     .median = gpu == 0 && direction[0] == 'h' ? 90e9 : 100e9});
    }
  }
  const analyzer::RouteFigures least = slowest_routes(calibration);
  ASSERT_TRUE(least.both);
  EXPECT_EQ(least.both->h2d, 90e9);
  EXPECT_EQ(least.both->d2h, 100e9);
  EXPECT_FALSE(least.neighbour) << "not measured";
  EXPECT_FALSE(slowest_routes({}).both);
}

}  // namespace
}  // namespace tferry::cli
