#include "trace/calibration.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tferry::trace {
namespace {

CalibratedFigure stretch(std::vector<int> gpus, const char* direction, double low, double median,
                         double high) {
  return {.what = "stretch",
          .gpus = std::move(gpus),
          .direction = direction,
          .memory = "pinned",
          .unit = "factor",
          .median = median,
          .low = low,
          .high = high,
          .count = 5};
}

CalibratedFigure copy(int gpu, std::int64_t bytes, const char* direction, double rate,
                      const char* beside = "") {
  return {.what = "copy",
          .gpus = {gpu},
          .gpu = gpu,
          .direction = direction,
          .memory = "pinned",
          .beside = beside,
          .bytes = bytes,
          .unit = "bytes/s",
          .median = rate,
          .low = rate,
          .high = rate,
          .count = 1};
}

TEST(SharedGroups, PairsThatSlowEachOtherDownAreJoined) {
  Calibration machine;
  machine.figures = {stretch({0, 1}, "h2d", 1.9, 2.0, 2.0), stretch({0, 2}, "h2d", 0.99, 1.00, 1.01),
                     stretch({1, 2}, "h2d", 1.00, 1.05, 1.09), stretch({2, 3}, "h2d", 1.9, 1.95, 2.0)};
  const auto groups = shared_groups(machine);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].gpus, (std::vector{0, 1}));
  EXPECT_EQ(groups[1].gpus, (std::vector{2, 3}));
  EXPECT_DOUBLE_EQ(groups[1].factor, 1.95);
}

TEST(SharedGroups, AChainOfPairsIsOneGroupWithTheFactorOfAllTogether) {
  Calibration machine;
  machine.figures = {stretch({0, 1}, "d2h", 1.5, 1.5, 1.5), stretch({1, 2}, "d2h", 1.4, 1.5, 1.6),
                     stretch({0, 1, 2}, "d2h", 2.8, 3.0, 3.1)};
  const auto groups = shared_groups(machine);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].gpus, (std::vector{0, 1, 2}));
  EXPECT_DOUBLE_EQ(groups[0].factor, 3.0);
}

TEST(SharedGroups, WithoutAMeasurementOfTheWholeTheWorstPairCounts) {
  Calibration machine;
  machine.figures = {stretch({0, 1}, "both", 1.3, 1.4, 1.5), stretch({1, 2}, "both", 1.6, 1.7, 1.8)};
  EXPECT_DOUBLE_EQ(shared_groups(machine).at(0).factor, 1.7);
}

TEST(SharedGroups, AStretchThatIsNotInEveryRepeatIsNone) {
  Calibration machine;
  machine.figures = {stretch({0, 1}, "both", 0.98, 1.3, 1.5)};
  EXPECT_TRUE(shared_groups(machine).empty());
}

TEST(LinkRate, IsThatOfTheLargestPiece) {
  Calibration machine;
  machine.figures = {copy(0, 4096, "h2d", 1.4e9), copy(0, 16 << 20, "h2d", 54e9),
                     copy(0, 64 << 20, "h2d", 31e9, "d2h")};
  EXPECT_DOUBLE_EQ(link_rate(machine, 0, "h2d").value(), 54e9);
  EXPECT_DOUBLE_EQ(link_rate(machine, 0, "h2d", "d2h").value(), 31e9);
  EXPECT_FALSE(link_rate(machine, 1, "h2d"));
}

TEST(RouteRates, AreThoseOfAnIdleNeighbour) {
  Calibration machine;
  const auto relay = [&](int gpu, const char* direction, const char* beside, double rate) {
    CalibratedFigure figure = copy(0, 0, direction, rate, beside);
    figure.what = "relay";
    figure.gpus = {0, 1};
    figure.gpu = gpu;
    machine.figures.push_back(figure);
  };
  for (const char* direction : {"h2d", "d2h", "both"}) {
    relay(0, direction, "idle", 54e9);
    relay(0, direction, "busy", 20e9);
    relay(1, direction, "busy", 35e9);
    relay(-1, direction, "busy", 55e9);
    relay(0, direction, "direct", 50e9);
    relay(-1, direction, "direct", 105e9);
  }
  const auto neighbour = route_rates(machine, 0, CopyRoute::Way::kNeighbour);
  ASSERT_TRUE(neighbour);
  EXPECT_EQ(neighbour->via, 1);
  EXPECT_DOUBLE_EQ(neighbour->h2d, 54e9);
  const auto both = route_rates(machine, 0, CopyRoute::Way::kBoth);
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->d2h, 105e9);
  EXPECT_DOUBLE_EQ(both->both, 105e9);
  EXPECT_FALSE(route_rates(machine, 0, CopyRoute::Way::kDirect));
  EXPECT_FALSE(route_rates(machine, 1, CopyRoute::Way::kBoth));
  machine.figures.pop_back();
  EXPECT_FALSE(route_rates(machine, 0, CopyRoute::Way::kBoth)) << "both ways at once was not measured";
}

TEST(CalibrationFile, IsReadAsItWasWritten) {
  Calibration machine;
  machine.created = "2026-11-30T12:00:00Z";
  machine.host = "node7";
  machine.gpus = {
      {.ordinal = 0, .uuid = "GPU-1", .name = "H200", .pci_address = "0000:19:00.0", .numa_node = 1}};
  machine.figures = {copy(0, 4096, "h2d", 1.4e9), stretch({0, 1}, "h2d", 1.0, 1.08, 1.1)};
  machine.missing = {"peer copies: there is one GPU"};
  const std::string text = to_json(machine);
  EXPECT_EQ(to_json(calibration_from_json(text)), text);
}

TEST(CalibrationFile, AnythingElseIsRefused) {
  for (const char* text : {"", "{}", "[]", "{\"format\":\"tferry-calibration\",\"version\":9}",
                           "{\"format\":\"tferry-calibration\",\"version\":1,\"created\":3}",
                           "{\"format\":\"tferry-calibration\",\"version\":1,\"created\":\"\",\"figures\":[],"
                           "\"gpus\":[{\"ordinal\":0,\"uuid\":\"x' OR '1\"}]}"}) {
    EXPECT_THROW(calibration_from_json(text), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace tferry::trace
