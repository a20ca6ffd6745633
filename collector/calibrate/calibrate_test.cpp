// The calibration over the software driver: three GPUs with links of 40 GB/s in and 20 out, of which the
// first two share one, as if behind a switch.
#include "collector/calibrate/calibrator.hpp"
#include "collector/calibrate/driver_error.hpp"
#include "collector/calibrate/read_kernel.hpp"
#include "tests/software_driver/control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

namespace tferry::calibrate {
namespace {

using trace::CalibratedFigure;
using trace::Calibration;

constexpr double kIn = 40e9, kOut = 20e9;

// Before the first call of the driver, which reads them.
[[maybe_unused]] const bool environment_set = [] {
  setenv("SWD_DEVICES", "3", 1);
  setenv("SWD_H2D_GBPS", "40", 1);
  setenv("SWD_D2H_GBPS", "20", 1);
  setenv("SWD_P2P_GBPS", "200", 1);
  setenv("SWD_SHARED_LINKS", "0+1", 1);
  return true;
}();

cuda::Driver linked_driver() { return cuda::Driver::from_library(RTLD_DEFAULT, dlsym); }

Settings small() {
  Settings settings;
  settings.buffer_bytes = 1 << 20;
  settings.piece_bytes = 64 << 10;
  settings.run_bytes = 8 << 20;
  settings.small_bytes = 0;
  settings.handle_bytes = 2 << 20;
  settings.repeats = 3;
  settings.now_ns = swd_virtual_now_ns;
  return settings;
}

void read_nothing(const SwdLaunch*) {}

const Calibration& measured() {
  static const Calibration calibration = [] {
    const SwdParameter layout[] = {{0, 8}, {8, 8}, {16, 8}};
    swd_register_kernel(ReadKernel::kName, read_nothing, layout, 3, 50'000);
    return calibrate(linked_driver(), small(), [](const std::string&) {});
  }();
  return calibration;
}

double median(const char* what, std::vector<int> gpus, int gpu, const char* direction,
              const char* beside = "") {
  const CalibratedFigure* figure =
      find_figure(measured(), what, std::move(gpus), gpu, direction, "pinned", beside);
  return figure == nullptr ? -1 : figure->median;
}

constexpr double kTolerance = 0.02;
#define EXPECT_RATE(actual, expected) EXPECT_NEAR(actual, expected, (expected) * kTolerance)

TEST(Calibrate, OneGpuAloneHasItsLinksRatesEachWayAndBothWays) {
  for (int gpu = 0; gpu < 3; ++gpu) {
    EXPECT_RATE(median("copy", {gpu}, gpu, "h2d"), kIn);
    EXPECT_RATE(median("copy", {gpu}, gpu, "d2h"), kOut);
    EXPECT_RATE(median("copy", {gpu}, gpu, "both"), kIn + kOut);
  }
}

TEST(Calibrate, FindsTheGpusThatShareALink) {
  const auto groups = shared_groups(measured());
  ASSERT_EQ(groups.size(), 3u);  // one for each of in, out and both
  for (const trace::SharedGroup& group : groups) {
    EXPECT_EQ(group.gpus, (std::vector{0, 1})) << group.direction;
    EXPECT_NEAR(group.factor, 2, 0.05) << group.direction;
  }
  EXPECT_RATE(groups[0].bytes_per_second, kIn);
}

TEST(Calibrate, GpusWithLinksOfTheirOwnDoNotStretchEachOther) {
  EXPECT_NEAR(median("stretch", {0, 2}, -1, "h2d"), 1, 0.02);
  EXPECT_NEAR(median("stretch", {1, 2}, -1, "both"), 1, 0.02);
  EXPECT_RATE(median("group", {0, 2}, -1, "h2d"), 2 * kIn);
}

TEST(Calibrate, ACopyInBesideOneOutOverASharedLinkCostsNothing) {
  EXPECT_NEAR(median("stretch", {0, 1}, -1, "mixed"), 1, 0.02);
}

TEST(Calibrate, ARelayByAGpuWithALinkOfItsOwnAddsThatLink) {
  // GPU 1's next neighbour is 2, which shares no link with it. Filling the relay's stages takes its time.
  EXPECT_GT(median("relay", {1, 2}, -1, "h2d", "direct"), 1.8 * kIn);
  EXPECT_GT(median("relay", {1, 2}, 1, "h2d", "idle"), 0.8 * kIn);
  // GPU 0's is 1, whose link is its own: nothing is gained.
  EXPECT_LT(median("relay", {0, 1}, -1, "h2d", "direct"), 1.05 * kIn);
}

TEST(Calibrate, ARelayByABusyNeighbourSharesItsLink) {
  const double sum = median("relay", {1, 2}, -1, "h2d", "busy");
  EXPECT_GT(sum, 0.8 * kIn);
  EXPECT_LT(sum, 1.05 * kIn);
}

TEST(Calibrate, CopiesBetweenGpusAreMeasuredBothWays) {
  for (const std::vector<int>& pair : {std::vector{0, 1}, std::vector{1, 0}, std::vector{2, 1}}) {
    const CalibratedFigure* figure = find_figure(measured(), "peer", pair, pair[1], "peer", "device");
    ASSERT_NE(figure, nullptr);
    EXPECT_RATE(figure->median, 200e9);
  }
}

TEST(Calibrate, AReadInPlaceIsTimedByTheKernel) {
  EXPECT_RATE(median("read_in_place", {2}, 2, "h2d"), (1 << 20) / 50e-6);
}

TEST(Calibrate, EveryFigureHasItsSpreadAndRepeats) {
  for (const CalibratedFigure& figure : measured().figures) {
    EXPECT_LE(figure.low, figure.median) << figure.what;
    EXPECT_LE(figure.median, figure.high) << figure.what;
    EXPECT_GT(figure.count, 0) << figure.what;
    EXPECT_FALSE(figure.unit.empty()) << figure.what;
  }
}

TEST(Calibrate, LeavesNothingBehind) {
  measured();
  for (int gpu = 0; gpu < 3; ++gpu) {
    SwdStatistics statistics{};
    ASSERT_EQ(swd_statistics(gpu, &statistics), 0);
    EXPECT_EQ(statistics.memory_used, 0u) << gpu;
    EXPECT_EQ(statistics.mappings, 0u);
    EXPECT_EQ(statistics.host_chunks_used, 0u);
  }
}

TEST(Calibrate, AtTheTimeLimitSaysWhatIsMissing) {
  Settings settings = small();
  settings.time_limit = std::chrono::milliseconds(0);
  const Calibration calibration = calibrate(linked_driver(), settings, [](const std::string&) {});
  EXPECT_TRUE(calibration.figures.empty());
  ASSERT_FALSE(calibration.missing.empty());
  EXPECT_EQ(calibration.missing.front(),
            "links, each GPU alone, in whole or in part: the time limit was reached");
}

TEST(Calibrate, WhatTheDriverRefusesIsMissingAndTheRestIsMeasured) {
  Settings settings = small();
  settings.gpus = {2};
  swd_fail("cuMemSetAccess", 1, CUDA_ERROR_NOT_SUPPORTED, 1);
  const Calibration calibration = calibrate(linked_driver(), settings, [](const std::string&) {});
  swd_clear_faults();
  EXPECT_TRUE(link_rate(calibration, 2, "h2d"));
  EXPECT_TRUE(
      std::any_of(calibration.missing.begin(), calibration.missing.end(), [](const std::string& text) {
        return text == "mapping calls, in whole or in part: cuMemSetAccess: CUDA_ERROR_NOT_SUPPORTED";
      }));
}

TEST(Calibrate, AGpuThatIsNotThereIsRefused) {
  Settings settings = small();
  settings.gpus = {7};
  EXPECT_THROW(calibrate(linked_driver(), settings, [](const std::string&) {}), DriverCallError);
}

}  // namespace
}  // namespace tferry::calibrate
