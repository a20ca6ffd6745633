#include "collector/config.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tferry::collector {
namespace {

std::vector<int> kinds_of(const char* list) {
  Config config;
  choose_kinds(list, config);
  return {config.kinds.begin(), config.kinds.end()};
}

TEST(ConfigTest, UsualKindsAreThoseThatCostNothing) {
  EXPECT_EQ(kinds_of(nullptr),
            (std::vector<int>{
                CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM,
                CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_NVLINK}));
  EXPECT_EQ(kinds_of(""), kinds_of(nullptr));
}

TEST(ConfigTest, AListReplacesTheUsualOne) {
  Config config;
  EXPECT_TRUE(choose_kinds("kernel,um", config));
  EXPECT_EQ(config.kinds.size(), 4u);
  EXPECT_EQ(config.kinds.back(), CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_TRUE(config.unified_memory);
}

TEST(ConfigTest, UnknownNamesAreToldAndTheRestCounts) {
  Config config;
  EXPECT_FALSE(choose_kinds("kernel,kernals,memset", config));
  EXPECT_EQ(config.kinds.size(), 5u);
  EXPECT_EQ(config.error,
            "TFERRY_COLLECT names 'kernals', which is none of kernel, memcpy, memset, sync, marker, "
            "overhead, link, um, api");
}

TEST(ConfigTest, ReadsTheEnvironment) {
  setenv("TFERRY_RUN_DIR", "/somewhere", 1);
  setenv("TFERRY_SPOOL_LIMIT", "1048576", 1);
  unsetenv("TFERRY_COLLECT");
  Config config = Config::from_environment();
  EXPECT_EQ(config.run_directory, "/somewhere");
  EXPECT_EQ(config.spool_limit, 1 << 20);
  EXPECT_EQ(config.error, "");
  setenv("TFERRY_SPOOL_LIMIT", "4GiB", 1);
  config = Config::from_environment();
  EXPECT_EQ(config.spool_limit, 0);
  EXPECT_EQ(config.error, "TFERRY_SPOOL_LIMIT=4GiB is not a number of bytes: no limit");
  unsetenv("TFERRY_SPOOL_LIMIT");
  unsetenv("TFERRY_RUN_DIR");
  EXPECT_EQ(Config::from_environment().run_directory, "");
}

TEST(ConfigTest, TakesARangeAndSaysWhatItDidNotUnderstand) {
  setenv("TFERRY_RANGE", "nvtx:step@torch", 1);
  setenv("TFERRY_AFTER_RANGE", "stop", 1);
  Config config = Config::from_environment();
  EXPECT_EQ(config.range.kind, trace::RangeRequest::Kind::kNvtx);
  EXPECT_TRUE(config.stop_after_range);
  setenv("TFERRY_RANGE", "now", 1);
  config = Config::from_environment();
  EXPECT_EQ(config.range.kind, trace::RangeRequest::Kind::kAll);
  EXPECT_NE(config.error.find("now is no range"), std::string::npos);
  unsetenv("TFERRY_RANGE");
  unsetenv("TFERRY_AFTER_RANGE");
}

// torchtitan#1035: wants to record some ranks only.
TEST(ConfigTest, Torchtitan1035OnlyListedRanksAreRecorded) {
  setenv("TFERRY_RUN_DIR", "/somewhere", 1);
  setenv("TFERRY_RANKS", "0,30", 1);
  const auto recorded = [](const char* rank) {
    rank == nullptr ? unsetenv("RANK") : setenv("RANK", rank, 1);
    return !Config::from_environment().run_directory.empty();
  };
  EXPECT_TRUE(recorded("0"));
  EXPECT_TRUE(recorded("30"));
  EXPECT_FALSE(recorded("3"));
  EXPECT_TRUE(recorded(nullptr)) << "a process without a rank is always recorded";
  unsetenv("TFERRY_RANKS");
  EXPECT_TRUE(recorded("3"));
  unsetenv("RANK");
  unsetenv("TFERRY_RUN_DIR");
}

}  // namespace
}  // namespace tferry::collector
