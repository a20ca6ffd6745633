#include "samples/layers/host_model.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tferry::samples {
namespace {

TEST(HostModel, FollowsACopyAndAMemsetIntoTheirQuarters) {
  HostModel model;
  const BufferId buffer = model.allocate("b", 8);
  model.fill(0, buffer, {1, 100});          // 100 101 | 102 103 | 104 105 | 106 107
  model.copy(0, {buffer, 0}, {buffer, 2});  // 100 101 | 102 103 | 100 101 | 106 107
  model.clear(0, {buffer, 3}, 0x01);
  EXPECT_EQ(model.read(buffer, 0, 8), (std::vector<std::uint64_t>{100, 101, 102, 103, 100, 101,
                                                                  0x0101010101010101, 0x0101010101010101}));
}

TEST(HostModel, ReadingWhatNothingWroteIsAnError) {
  HostModel model;
  const BufferId buffer = model.allocate("b", 8);
  model.upload(0, {buffer, 0}, {1, 1});
  EXPECT_THROW(model.sums(0, buffer), std::logic_error);
  EXPECT_EQ(model.element(buffer, 1), 2U);
}

TEST(HostModel, AReleasedBufferIsGone) {
  HostModel model;
  const BufferId buffer = model.allocate("b", 8);
  model.release(buffer);
  EXPECT_THROW(model.fill(0, buffer, {}), std::logic_error);
  EXPECT_EQ(model.live_bytes(), 0U);
  EXPECT_EQ(model.peak_bytes(), 64U);
}

}  // namespace
}  // namespace tferry::samples
