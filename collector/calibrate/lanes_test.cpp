#include "collector/calibrate/lanes.hpp"

#include <gtest/gtest.h>

namespace tferry::calibrate {
namespace {

TEST(BytesDone, CountsWholePiecesAndTheShareOfTheOneUnderWay) {
  const std::vector<double> done = {1, 2, 4};
  EXPECT_DOUBLE_EQ(bytes_done(done, 2, 100), 200);
  EXPECT_DOUBLE_EQ(bytes_done(done, 3, 100), 250);
  EXPECT_DOUBLE_EQ(bytes_done(done, 0.5, 100), 50);
}

TEST(BytesDone, IsAllOfItAfterTheEnd) { EXPECT_DOUBLE_EQ(bytes_done({1, 2}, 9, 100), 200); }

}  // namespace
}  // namespace tferry::calibrate
