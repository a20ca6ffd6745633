#include "cli/job/run_directory.hpp"

#include "cli/failure.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(place_.path()), {}); }

  pid_t dead_process() {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    ::waitpid(pid, nullptr, 0);
    return pid;
  }

  testing_support::TemporaryDirectory place_;
};

TEST_F(RunDirectoryTest, IsPrivateAndGoesAway) {
  {
    const RunDirectory directory({place_.path()});
    struct stat status{};
    ASSERT_EQ(::stat(directory.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::ofstream(directory.path() / "status.1") << "x";
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(RunDirectoryTest, FallsBackToTheNextPlace) {
  const RunDirectory directory({place_.path() / "missing", place_.path()});
  EXPECT_EQ(directory.path().parent_path(), place_.path());
}

TEST_F(RunDirectoryTest, NoPlaceIsAFailureThatNamesThem) {
  try {
    const RunDirectory directory({place_.path() / "missing"});
    FAIL() << "made";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("missing"), std::string::npos);
  }
}

TEST_F(RunDirectoryTest, OneInUseIsNotStale) {
  const RunDirectory directory({place_.path()});
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 0);
  EXPECT_TRUE(fs::exists(directory.path()));
}

TEST_F(RunDirectoryTest, WhatADeadLauncherLeftIsRemoved) {
  const fs::path stale = place_.path() / "tferry-run-abcdef";
  fs::create_directory(stale);
  std::ofstream(stale / "launcher.lock") << "";
  std::ofstream(stale / ("status." + std::to_string(dead_process()))) << "x";
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 60), 0) << "too young to judge";
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 1);
  EXPECT_EQ(entries(), 0);
}

TEST_F(RunDirectoryTest, RecordingsAreKeptUnlessTheyWereForTheMoment) {
  const fs::path stale = place_.path() / "tferry-run-abcdef";
  fs::create_directory(stale);
  std::ofstream(stale / "spool.1.runtime.0") << "x";
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 0);
  std::ofstream(stale / RunDirectory::kPassing) << "x";
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 1);
}

TEST_F(RunDirectoryTest, OneOfAJobThatStillRunsIsKept) {
  const fs::path stale = place_.path() / "tferry-run-abcdef";
  fs::create_directory(stale);
  std::ofstream(stale / ("status." + std::to_string(::getpid()))) << "x";
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 0);
}

TEST_F(RunDirectoryTest, OthersThingsAndLinksAreNotTouched) {
  const testing_support::TemporaryDirectory elsewhere;
  std::ofstream(elsewhere.path() / "precious") << "x";
  fs::create_directory_symlink(elsewhere.path(), place_.path() / "tferry-run-linked");
  fs::create_directory(place_.path() / "other");
  EXPECT_EQ(RunDirectory::remove_stale(place_.path(), 0), 0);
  EXPECT_TRUE(fs::exists(elsewhere.path() / "precious"));
  EXPECT_EQ(entries(), 2);
}

}  // namespace
}  // namespace tferry::cli
