#include "trace/session_detail.hpp"

#include "trace/session.hpp"
#include "trace/session_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

namespace tferry::trace {
namespace {

using Level = std::vector<DetailBucket>;

TEST(DetailBuilderTest, SpreadsAnEventOverTheBucketsThatItCovers) {
  DetailBuilder builder(16, 1 << 10);
  std::map<int, Level> levels;
  const auto emit = [&](int level, const DetailBucket& bucket) { levels[level].push_back(bucket); };
  const int finest = builder.finest();
  const std::int64_t width = std::int64_t{1} << finest;
  builder.add(width / 2, 3 * width, 250, 0, 7, emit);  // half of the first, all of the second and third
  builder.finish(emit);
  const Level& level = levels.at(finest);
  ASSERT_EQ(level.size(), 3u);
  EXPECT_EQ(level[0].count, 1);
  EXPECT_EQ(level[0].busy_ns, width / 2);
  EXPECT_EQ(level[1].count, 0);
  EXPECT_EQ(level[1].busy_ns, width);
  EXPECT_DOUBLE_EQ(level[0].bytes, 50);
  EXPECT_DOUBLE_EQ(level[2].bytes, 100);
  EXPECT_EQ(level[2].name_id, 7);
}

TEST(DetailBuilderTest, NamesWhatTakesMostOfABucket) {
  DetailBuilder builder(8, 64);
  DetailBucket last;
  const auto emit = [&](int, const DetailBucket& bucket) { last = bucket; };
  builder.add(0, 10, 0, 0, 1, emit);
  builder.add(10, 40, 0, 0, 2, emit);
  builder.add(40, 50, 0, 0, 3, emit);
  builder.finish(emit);
  EXPECT_EQ(last.name_id, 2);
  EXPECT_EQ(last.busy_ns, 50);
  EXPECT_EQ(last.count, 3);
}

/// 3000 kernels of 600 ns, one each microsecond, and a session that summarises from 1000 events on.
class SessionDetailTest : public ::testing::Test {
 protected:
  static Database made() {
    Database database;
    database.execute(
        "CREATE TABLE kernel(process_id, device_id, stream_id, owner, start_ns, end_ns, name_id);"
        "CREATE TABLE memset(process_id, device_id, stream_id, owner, start_ns, end_ns, bytes);"
        "CREATE TABLE memcpy(process_id, device_id, kind, owner, start_ns, end_ns, bytes);"
        "CREATE TABLE marker(process_id, thread, start_ns, end_ns, name_id);"
        "CREATE TABLE sync(process_id, start_ns, end_ns);"
        "CREATE TABLE counter(device_id, name_id, start_ns, end_ns, value);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999) "
        "INSERT INTO kernel SELECT 1, 1, 4, 1, i * 1000, i * 1000 + 600, 5 FROM n");
    return database;
  }
};

TEST_F(SessionDetailTest, LargeSessionsAreSummarisedAtEveryLevel) {
  Database database = made();
  create_detail(database, 1000);
  ASSERT_TRUE(has_detail(database));
  EXPECT_EQ(database.integer("SELECT count FROM detail_lane WHERE source = 'kernel' AND key = 4"), 3000);
  EXPECT_EQ(database.integer("SELECT longest_ns FROM detail_lane"), 600);
  EXPECT_GE(database.integer("SELECT count(DISTINCT level) FROM detail"), 1);
  EXPECT_EQ(
      database.integer(
          "SELECT count(*) FROM (SELECT level FROM detail GROUP BY level HAVING sum(busy_ns) <> 1800000 "
          "OR sum(count) <> 3000)"),
      0);
}

TEST_F(SessionDetailTest, SmallSessionsAreLeftAlone) {
  Database database = made();
  create_detail(database, 3001);
  EXPECT_FALSE(has_detail(database));
}

TEST_F(SessionDetailTest, ANewSessionWithFewEventsHasNone) {
  const TestDirectory directory;
  const std::string path = directory / "small.tferry";
  SessionWriter::create(path).publish();
  Session session = Session::open(path);
  EXPECT_FALSE(has_detail(session.database()));
}

}  // namespace
}  // namespace tferry::trace
