#include "trace/stream_map.hpp"

#include <gtest/gtest.h>

namespace tferry::trace {
namespace {

StreamRecord stream(std::int64_t time, std::uint64_t handle, std::uint32_t id, std::int32_t device = 0) {
  return {.time_ns = time, .handle = handle, .context_id = 1, .stream_id = id, .device = device};
}

std::uint32_t id(const std::optional<ActivityStream>& found) { return found ? found->stream_id : 0; }

TEST(StreamMapTest, AReusedHandleMeansWhatItMeantAtTheTime) {
  const StreamRecord records[] = {stream(200, 0xa0, 8), stream(100, 0xa0, 7)};
  const StreamMap map(records);
  EXPECT_EQ(id(map.find(0xa0, 0, 150)), 7u);
  EXPECT_EQ(id(map.find(0xa0, 0, 200)), 8u);
  EXPECT_EQ(id(map.find(0xa0, 0, 10)), 7u) << "used before it was recorded";
  EXPECT_FALSE(map.find(0xb0, 0, 150));
}

TEST(StreamMapTest, DefaultStreamsDependOnTheDevice) {
  const StreamRecord records[] = {stream(0, 0, 7, 0), stream(0, 0, 9, 1)};
  const StreamMap map(records);
  EXPECT_EQ(id(map.find(0, 0, 5)), 7u);
  EXPECT_EQ(id(map.find(0, 1, 5)), 9u);
  EXPECT_FALSE(map.find(0, 2, 5));
}

TEST(StreamMapTest, RecordsOfHooksNameNoActivityStream) {
  const StreamRecord records[] = {{.time_ns = 1, .handle = 0xa0, .device = 0}};
  EXPECT_FALSE(StreamMap(records).find(0xa0, 0, 5));
}

TEST(StreamMapTest, TakesAssumptions) {
  StreamMap map({});
  map.assume(0xa0, 0, {1, 13});
  EXPECT_EQ(id(map.find(0xa0, 0, 5)), 13u);
}

}  // namespace
}  // namespace tferry::trace
