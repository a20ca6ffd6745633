#include "trace/session.hpp"

#include "trace/session_schema.hpp"
#include "trace/session_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::trace {
namespace {

using Reason = SessionError::Reason;

class SessionTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "a.tferry") const { return directory_ / name; }

  /// A session with 1,000 kernels, the n-th from 10 n to 10 n + 5.
  void write_kernels() {
    SessionWriter writer = SessionWriter::create(path());
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::int64_t name = writer.intern("kernel " + std::to_string(i % 7));
      writer.insert(
          KernelRow{.process_id = 1, .start_ns = 10 * i, .end_ns = 10 * i + 5, .name_id = name, .grid_x = i});
    }
    writer.publish();
  }

  std::string error_of(const std::string& name, Reason reason) {
    try {
      Session::open(path(name));
      return "(opened)";
    } catch (const SessionError& error) {
      EXPECT_EQ(error.reason(), reason) << error.what();
      return error.what();
    }
  }

  TestDirectory directory_;
};

TEST_F(SessionTest, GivesBackTypedRows) {
  write_kernels();
  Session session = Session::open(path());
  std::vector<std::int64_t> grids;
  for (const KernelRow& kernel :
       session.rows<KernelRow>("WHERE start_ns >= ? AND start_ns < ? ORDER BY start_ns", 30, 60)) {
    grids.push_back(kernel.grid_x);
    EXPECT_EQ(session.string(kernel.name_id), "kernel " + std::to_string(kernel.grid_x));
    EXPECT_FALSE(kernel.operation);
    EXPECT_EQ(kernel.owner, StreamOwner::kUnknown);
  }
  EXPECT_EQ(grids, (std::vector<std::int64_t>{3, 4, 5}));
  EXPECT_EQ(session.count<KernelRow>("end_ns > 9000"), 100);
  EXPECT_FALSE(session.first<MemcpyRow>());
  EXPECT_EQ(session.label("copy_kind", 1), "host_to_device");
  EXPECT_EQ(session.label("copy_kind", 99), "99");
  EXPECT_EQ(session.meta("absent"), std::nullopt);
}

TEST_F(SessionTest, ParametersNeedNotOutliveTheCall) {
  write_kernels();
  Session session = Session::open(path());
  std::int64_t found = 0;
  for (const StringRow& row : session.rows<StringRow>("WHERE value = ?", std::string("kernel 3"))) {
    found += row.value == "kernel 3";
  }
  EXPECT_EQ(found, 1);
}

TEST_F(SessionTest, KeepsEveryColumn) {
  SessionWriter writer = SessionWriter::create(path());
  MemcpyRow row{.process_id = 2, .bytes = std::int64_t{1} << 40, .kind = CopyKind::kDeviceToHost};
  row.stream_id = 3;
  row.wait_ns = -1;
  row.owner = StreamOwner::kRuntime;
  EXPECT_EQ(writer.insert(row), 1);
  writer.insert(PlanRow{.name = "p\0q", .planner = "lookahead", .created = "2026"});
  writer.publish();
  Session session = Session::open(path());
  const MemcpyRow read = session.first<MemcpyRow>().value();
  EXPECT_EQ(read.id, 1);
  EXPECT_EQ(read.bytes, std::int64_t{1} << 40);
  EXPECT_EQ(read.kind, CopyKind::kDeviceToHost);
  EXPECT_EQ(read.stream_id, 3);
  EXPECT_EQ(read.wait_ns, -1);
  EXPECT_EQ(read.owner, StreamOwner::kRuntime);
  EXPECT_EQ(read.device_id, std::nullopt);
  EXPECT_EQ(session.first<PlanRow>()->planner, "lookahead");
}

TEST_F(SessionTest, RefusesWhatIsNoSessionWithAReason) {
  EXPECT_NE(error_of("absent", Reason::kMissing).find("No such file"), std::string::npos);
  std::filesystem::create_directory(path("dir"));
  error_of("dir", Reason::kNotAFile);
  spew(path("empty"), "");
  EXPECT_NE(error_of("empty", Reason::kEmpty).find("is empty"), std::string::npos);
  spew(path("text"), std::string(1000, 'x'));
  EXPECT_NE(error_of("text", Reason::kNotSqlite).find("not an SQLite database"), std::string::npos);
  Database(path("other"), Database::Mode::kCreate).execute("CREATE TABLE t(x)");
  EXPECT_NE(error_of("other", Reason::kForeign).find("database of another program"), std::string::npos);
  Database(path("nsys"), Database::Mode::kCreate).execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(x)");
  EXPECT_NE(error_of("nsys", Reason::kForeign).find("`tferry import`"), std::string::npos);
  Database(path("tableless"), Database::Mode::kCreate).execute("PRAGMA user_version=1");
  EXPECT_NE(error_of("tableless", Reason::kEmpty).find("no tables"), std::string::npos);
}

TEST_F(SessionTest, RefusesANewerVersion) {
  write_kernels();
  Database(path(), Database::Mode::kReadWrite).execute("PRAGMA user_version=12");
  EXPECT_NE(error_of("a.tferry", Reason::kNewer).find("schema version 12, this tferry knows up to 6"),
            std::string::npos);
}

TEST_F(SessionTest, SaysThatItIsTruncated) {
  write_kernels();
  const std::string whole = slurp(path());
  for (std::size_t size = 1; size < whole.size(); size += 997) {
    spew(path("cut"), whole.substr(0, size));
    const std::string error = error_of("cut", size < 16 ? Reason::kNotSqlite : Reason::kTruncated);
    EXPECT_NE(error, "(opened)") << size;
  }
}

TEST_F(SessionTest, SaysThatItIsLocked) {
  write_kernels();
  Database writer(path(), Database::Mode::kReadWrite);
  writer.execute("BEGIN EXCLUSIVE");
  EXPECT_NE(error_of("a.tferry", Reason::kLocked).find("is locked"), std::string::npos);
}

TEST_F(SessionTest, OpensInAReadOnlyPlaceButWillNotEditThere) {
  write_kernels();
  std::filesystem::permissions(path(), std::filesystem::perms::owner_read);
  std::filesystem::permissions(directory_.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(Session::open(path()).count<KernelRow>(), 1000);
  if (access(path().c_str(), W_OK) != 0) {
    try {
      SessionWriter::edit(path());
      ADD_FAILURE() << "edited a read-only session";
    } catch (const SessionError& error) {
      EXPECT_EQ(error.reason(), Reason::kReadOnly);
    }
  }
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::owner_all);
}

TEST_F(SessionTest, AKilledEditLeavesTheSessionAsItWas) {
  write_kernels();
  const pid_t child = fork();
  if (child == 0) {
    Database database(path(), Database::Mode::kReadWrite);
    database.execute("PRAGMA cache_size=1; BEGIN; DELETE FROM kernel; DELETE FROM string");
    for (int i = 0; i < 2000; ++i) database.execute("INSERT INTO meta VALUES ('k', hex(zeroblob(2000)))");
    _exit(0);  // closes nothing: the journal stays, as after SIGKILL
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(std::filesystem::exists(path() + "-journal"));
  EXPECT_EQ(Session::open(path()).count<KernelRow>(), 1000);
}

TEST_F(SessionTest, NeverCrashesOnMutatedFiles) {
  write_kernels();
  const std::string whole = slurp(path());
  std::mt19937_64 random(2);
  int opened = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string mutated = whole;
    for (std::uint64_t edits = random() % 20 + 1; edits > 0; --edits) {
      // Half of the edits go to the first page, where the header and the schema are.
      const std::size_t at = random() % (edits % 2 == 0 ? mutated.size() : std::size_t{16384});
      mutated[at] = static_cast<char>(random());
    }
    if (round % 4 == 0) mutated.erase(random() % mutated.size(), random() % 20000);
    spew(path("mutated"), mutated);
    try {
      Session session = Session::open(path("mutated"));
      ++opened;
      for_each_table([&]<typename Row>() {
        std::int64_t rows = 0;
        for ([[maybe_unused]] const Row& row : session.rows<Row>()) {
          if (++rows > 5000) break;
        }
      });
    } catch (const SessionError&) {
      ++refused;
    }
  }
  EXPECT_GT(opened, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tferry::trace
