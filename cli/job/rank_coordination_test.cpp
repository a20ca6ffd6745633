#include "cli/job/rank_coordination.hpp"

#include "cli/commands/coordination_options.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

/// As torchrun sets them. Made before the environments are read.
struct Torchrun {
  Torchrun() {
    setenv("RANK", "0", 1);
    setenv("TORCHELASTIC_RUN_ID", "none", 1);
    setenv("MASTER_PORT", "29500", 1);
  }
  ~Torchrun() {
    for (const char* name : {"RANK", "TORCHELASTIC_RUN_ID", "MASTER_PORT"}) unsetenv(name);
  }
};

class RankCoordinationTest : public testing::Test {
 protected:
  RankCoordinationTest() {
    fs::create_directory(place_);
    fs::create_directory(run_);
    fs::create_directory(other_run_);
  }
  static CoordinationSettings orchestrate() {
    CoordinationSettings settings;
    settings.mode = CoordinationSettings::Mode::kOrchestrate;
    return settings;
  }
  std::unique_ptr<RankCoordination> join(const fs::path& run, Environment& environment,
                                         const CoordinationSettings& settings = orchestrate()) {
    return std::make_unique<RankCoordination>(settings, run, std::vector{place_}, environment);
  }
  static std::string value(const Environment& environment, const char* name) {
    return std::string(environment.get(name).value_or("unset"));
  }
  fs::path meeting() const { return place_ / ("tferry-ranks-" + std::to_string(::geteuid())); }

  Torchrun torchrun_;
  testing_support::TemporaryDirectory folder_;
  fs::path place_ = folder_.path() / "place", run_ = folder_.path() / "run",
           other_run_ = folder_.path() / "run2";
  Environment environment_{environ}, other_environment_{environ};
};

TEST_F(RankCoordinationTest, OffChangesNothing) {
  join(run_, environment_, {});
  EXPECT_TRUE(environment_.changes().empty());
  EXPECT_TRUE(fs::is_empty(run_));
}

TEST_F(RankCoordinationTest, OutsideOfALauncherTheSegmentLiesInTheRunDirectory) {
  unsetenv("RANK");
  const auto ranks = join(run_, environment_);
  EXPECT_EQ("", ranks->warning());
  EXPECT_EQ((run_ / "slots").string(), value(environment_, "TFERRY_SLOT_SEGMENT"));
  EXPECT_EQ("orchestrate", value(environment_, "TFERRY_COORDINATE"));
  EXPECT_TRUE(fs::exists(value(environment_, "TFERRY_LINKS")));
  EXPECT_FALSE(fs::exists(meeting()));
}

TEST_F(RankCoordinationTest, LaunchersOfOneJobShareASegmentThatTheLastRemoves) {
  auto first = join(run_, environment_), second = join(other_run_, other_environment_);
  const std::string segment = value(environment_, "TFERRY_SLOT_SEGMENT");
  EXPECT_EQ(segment, value(other_environment_, "TFERRY_SLOT_SEGMENT"));
  struct stat status{};
  ASSERT_EQ(0, stat(meeting().c_str(), &status));
  EXPECT_EQ(0700U, status.st_mode & 0777);
  first.reset();
  EXPECT_TRUE(fs::exists(segment));
  second.reset();
  EXPECT_TRUE(fs::is_empty(meeting()));
}

TEST_F(RankCoordinationTest, AnotherJobHasASegmentOfItsOwn) {
  const auto first = join(run_, environment_);
  other_environment_.set("MASTER_PORT", "29501");
  const auto second = join(other_run_, other_environment_);
  EXPECT_NE(value(environment_, "TFERRY_SLOT_SEGMENT"), value(other_environment_, "TFERRY_SLOT_SEGMENT"));
}

TEST_F(RankCoordinationTest, WhatACrashedLauncherLeftIsNotJoinedAndRemovedByTheNext) {
  const pid_t crashed = ::fork();
  if (crashed == 0) {
    const auto ranks = join(run_, environment_);
    ::raise(SIGKILL);
  }
  ::waitpid(crashed, nullptr, 0);
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(meeting())) ++left;
  ASSERT_EQ(2U, left);
  other_environment_.set("MASTER_PORT", "29501");
  join(other_run_, other_environment_).reset();
  EXPECT_TRUE(fs::is_empty(meeting()));
}

TEST_F(RankCoordinationTest, ADirectoryThatOthersCanEnterIsNotUsed) {
  fs::create_directory(meeting());
  ASSERT_EQ(0, ::chmod(meeting().c_str(), 0755));
  const auto ranks = join(run_, environment_);
  EXPECT_NE("", ranks->warning());
  EXPECT_EQ("unset", value(environment_, "TFERRY_COORDINATE"));
}

TEST_F(RankCoordinationTest, InterleavingNeedsNoSegment) {
  CoordinationSettings settings;
  settings.mode = CoordinationSettings::Mode::kInterleave;
  join(run_, environment_, settings);
  EXPECT_EQ("interleave", value(environment_, "TFERRY_COORDINATE"));
  EXPECT_EQ("unset", value(environment_, "TFERRY_SLOT_SEGMENT"));
}

TEST(CoordinationOptions, AutoTakesWhatWasBestInSimulations) {
  CoordinationOptions options;
  options.mode = "auto";
  EXPECT_EQ(CoordinationSettings::Mode::kOrchestrate, options.settings(nullptr).mode);
  EXPECT_EQ(trace::SlotOrder::kBehind, options.settings(nullptr).order);
  options.order = "rotating";
  EXPECT_EQ(trace::SlotOrder::kRotating, options.settings(nullptr).order) << "what is asked for is taken";
}

TEST(CoordinationOptions, WhatCannotBeIsRefused) {
  CoordinationOptions options;
  EXPECT_EQ(CoordinationSettings::Mode::kOff, options.settings(nullptr).mode);
  options.lease_ms = 0;
  EXPECT_THROW(options.settings(nullptr), Failure);
  options = {};
  options.synchronise = 0;
  EXPECT_THROW(options.settings(nullptr), Failure);
  options = {};
  options.slot = "0";
  EXPECT_THROW(options.settings(nullptr), Failure);
  options = {};
  options.topology = "/nonexistent";
  EXPECT_THROW(options.settings(nullptr), Failure);
}

}  // namespace
}  // namespace tferry::cli
