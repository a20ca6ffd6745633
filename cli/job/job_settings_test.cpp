#include "cli/job/job_settings.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace tferry::cli {
namespace {

TEST(JobSettings, OnlyWhatWasAskedForIsSet) {
  Environment environment(nullptr);
  apply_settings({}, "/opt/lib/libtferry_runtime.so", "/dev/shm/run", environment);
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/opt/lib/libtferry_runtime.so");
  EXPECT_EQ(environment.get("TFERRY_RUN_DIR"), "/dev/shm/run");
  EXPECT_EQ(environment.get("TFERRY_BUDGET"), "auto");
  EXPECT_EQ(environment.get("TFERRY_VERIFY"), std::nullopt);
  EXPECT_EQ(environment.get("TFERRY_RESERVE"), std::nullopt);
  EXPECT_EQ(environment.get("TFERRY_LOG"), std::nullopt);
}

TEST(JobSettings, SizesAreGivenInBytes) {
  JobSettings settings;
  settings.reserve = 7;
  settings.chunk = 2 << 20;
  settings.movable = 0;
  settings.detailed = true;
  Environment environment(nullptr);
  apply_settings(settings, "/opt/lib/libtferry_runtime.so", "/dev/shm/run", environment);
  EXPECT_EQ(environment.get("TFERRY_RESERVE"), "7");
  EXPECT_EQ(environment.get("TFERRY_CHUNK"), "2097152");
  EXPECT_EQ(environment.get("TFERRY_MOVABLE"), "0");
  EXPECT_EQ(environment.get("TFERRY_LOG"), "2");
}

TEST(JobSettings, MemoryAndPolicyAreSetWhereTheyDifferFromTheDefault) {
  JobSettings settings;
  settings.memory = "managed";
  settings.policy = "naive-um";
  settings.allow_oversubscription = true;
  settings.managed_limit = 4096;
  Environment environment(nullptr);
  apply_settings(settings, "/opt/lib/libtferry_runtime.so", "/dev/shm/run", environment);
  EXPECT_EQ(environment.get("TFERRY_MEMORY"), "managed");
  EXPECT_EQ(environment.get("TFERRY_POLICY"), "naive-um");
  EXPECT_EQ(environment.get("TFERRY_ALLOW_OVERSUBSCRIPTION"), "1");
  EXPECT_EQ(environment.get("TFERRY_MANAGED_LIMIT"), "4096");
  Environment untouched(nullptr);
  apply_settings({}, "/opt/lib/libtferry_runtime.so", "/dev/shm/run", untouched);
  EXPECT_EQ(untouched.get("TFERRY_MEMORY"), std::nullopt);
  EXPECT_EQ(untouched.get("TFERRY_POLICY"), std::nullopt);
}

TEST(JobSettings, ALibraryWithASpaceInItsPathIsLinkedFromTheRunDirectory) {
  const testing_support::TemporaryDirectory directory;
  Environment environment(nullptr);
  apply_settings({}, "/my programs/lib/libtferry_runtime.so", directory.path(), environment);
  const std::filesystem::path link = directory.path() / "libtferry_runtime.so";
  EXPECT_EQ(environment.get("LD_PRELOAD"), link.string());
  EXPECT_EQ(std::filesystem::read_symlink(link), "/my programs/lib/libtferry_runtime.so");
}

TEST(JobSettings, ChangesAreTold) {
  Environment environment(nullptr);
  environment.prepend("LD_PRELOAD", "/user.so", ':');
  apply_settings({}, "/opt/lib/libtferry_runtime.so", "/dev/shm/run", environment);
  EXPECT_NE(describe_changes(environment).find("LD_PRELOAD (ours in front of yours)"), std::string::npos);
  EXPECT_NE(list_changes(environment).find("  TFERRY_BUDGET=auto"), std::string::npos);
}

TEST(ParseChunk, TakesPowersOfTwoWithinReason) {
  EXPECT_EQ(parse_chunk("2MiB"), 2 << 20);
  for (const char* text : {"3MiB", "0", "32KiB", "2GiB", "x"})
    EXPECT_THROW(parse_chunk(text), Failure) << text;
}

}  // namespace
}  // namespace tferry::cli
