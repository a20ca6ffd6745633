#include "analyzer/planner/room_line.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

namespace tferry::analyzer {
namespace {

TEST(RoomLine, FindsWhereRoomBegins) {
  RoomLine room({5, 1, 7, 7, 3});
  EXPECT_EQ(room.room_from(0, 4, 6), 2U);
  EXPECT_EQ(room.room_from(3, 4, 6), 3U) << "no earlier than asked for";
  EXPECT_EQ(room.room_from(2, 6, 3), 2U) << "around the end of the iteration";
  EXPECT_EQ(room.room_from(2, 7, 3), 7U) << "operation 6 is the second one, which has too little";
  room.take(2, 4, 4);
  EXPECT_EQ(room.room_from(0, 4, 3), 2U);
  EXPECT_EQ(room.room_from(0, 4, 4), 4U);
}

RC_GTEST_PROP(RoomLineProperty, AgreesWithALoop, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> plain(1 + random() % 40);
  for (std::int64_t& room : plain) room = random() % 100;
  RoomLine line(plain);
  for (int i = 0; i < 50; ++i) {
    const std::size_t begin = random() % plain.size();
    const std::size_t end = begin + random() % (plain.size() + 1);
    const std::int64_t bytes = random() % 60;
    std::size_t from = end;
    while (from > begin && plain[(from - 1) % plain.size()] >= bytes) --from;
    RC_ASSERT(line.room_from(begin, end, bytes) == from);
    for (std::size_t t = from; t < end; ++t) plain[t % plain.size()] -= bytes;
    line.take(from, end, bytes);
  }
}

}  // namespace
}  // namespace tferry::analyzer
