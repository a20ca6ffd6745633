#include "cli/demo/synthetic_session.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"
#include "trace/session.hpp"
#include "trace/session_detail.hpp"

#include <gtest/gtest.h>

namespace tferry::cli {
namespace {

TEST(SyntheticSessionTest, IsMarkedAndHasTheEventsThatWereAskedFor) {
  const testing_support::TemporaryDirectory directory;
  const std::string path = (directory.path() / "s.tferry").string();
  const std::int64_t events = write_synthetic_session(path, {20'000, 1, false}, [](double) {});
  trace::Session session = trace::Session::open(path);
  EXPECT_TRUE(session.meta("synthetic"));
  EXPECT_NEAR(static_cast<double>(events), 20'000, 200);
  EXPECT_EQ(
      session.integer(
          "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memcpy) + (SELECT count(*) FROM "
          "memset) + (SELECT count(*) FROM counter) + (SELECT count(*) FROM marker) + (SELECT count(*) "
          "FROM allocation)"),
      events);
  EXPECT_EQ(session.integer("SELECT count(*) FROM kernel WHERE end_ns <= start_ns"), 0);
}

TEST(SyntheticSessionTest, TheSameSeedGivesTheSameEvents) {
  const testing_support::TemporaryDirectory directory;
  const auto hash = [&](const char* name, std::uint64_t seed) {
    const std::string path = (directory.path() / name).string();
    write_synthetic_session(path, {5'000, seed, false}, [](double) {});
    return trace::Session::open(path).integer("SELECT sum(end_ns % 1000003) FROM kernel");
  };
  EXPECT_EQ(hash("a.tferry", 7), hash("b.tferry", 7));
  EXPECT_NE(hash("c.tferry", 8), hash("d.tferry", 7));
}

TEST(SyntheticSessionTest, ReadsCountsAsPeopleWriteThem) {
  EXPECT_EQ(parse_count("10M", "--synthesize"), 10'000'000);
  EXPECT_EQ(parse_count("200k", "--synthesize"), 200'000);
  for (const char* wrong : {"", "0", "-1", "10G", "many", "1e30"})
    EXPECT_THROW(parse_count(wrong, "--synthesize"), Failure) << wrong;
}

}  // namespace
}  // namespace tferry::cli
