#include "trace/sqlite.hpp"

#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

namespace tferry::trace {
namespace {

TEST(SqliteTest, BindsAndReadsEveryType) {
  Database database;
  database.execute("CREATE TABLE t(i, r, s, n)");
  Statement insert(database, "INSERT INTO t VALUES (?, ?, ?, ?)");
  insert.bind(1, std::int64_t{1} << 60);
  insert.bind(2, 0.5);
  insert.bind(3, std::string("a\0b", 3));
  insert.bind(4, std::optional<std::int64_t>());
  insert.run();
  Statement select(database, "SELECT * FROM t");
  ASSERT_TRUE(select.step());
  EXPECT_EQ(select.integer(0), std::int64_t{1} << 60);
  EXPECT_EQ(select.real(1), 0.5);
  EXPECT_EQ(select.text(2), std::string_view("a\0b", 3));
  EXPECT_TRUE(select.is_null(3));
  EXPECT_EQ(select.column_name(2), "s");
  EXPECT_FALSE(select.step());
}

TEST(SqliteTest, ErrorsTellWhatWasTried) {
  Database database;
  try {
    Statement(database, "SELECT nonsense FROM nowhere");
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_STREQ(error.what(), "SELECT nonsense FROM nowhere: no such table: nowhere");
  }
}

TEST(SqliteTest, PathsMayHoldWhatUrisGiveMeaningTo) {
  const TestDirectory directory;
  const std::string path = directory / "50% #1?.tferry";
  Database(path, Database::Mode::kCreate).execute("CREATE TABLE t(x)");
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(Database(path, Database::Mode::kReadOnly).integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST(SqliteTest, ReadOnlyConnectionsCannotWrite) {
  const TestDirectory directory;
  const std::string path = directory / "x";
  Database(path, Database::Mode::kCreate).execute("CREATE TABLE t(x)");
  try {
    Database(path, Database::Mode::kReadOnly).execute("INSERT INTO t VALUES (1)");
    FAIL();
  } catch (const SqliteError& error) {
    EXPECT_TRUE(error.read_only());
  }
}

}  // namespace
}  // namespace tferry::trace
