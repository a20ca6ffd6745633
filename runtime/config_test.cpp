#include "runtime/config.hpp"

#include "trace/job_environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace tferry::runtime {
namespace {

namespace variables = trace::environment;
using trace::BudgetSource;

class ConfigTest : public ::testing::Test {
 protected:
  ~ConfigTest() override { clear(); }
  static void clear() {
    for (const char* name :
         {variables::kRunDirectory, variables::kBudget, variables::kHostBudget, variables::kReserve,
          variables::kVerify, variables::kOff, variables::kChunkSize, variables::kMovableSize,
          variables::kLog, variables::kSpoolLimit, variables::kCoordinate, variables::kSlotSegment,
          variables::kSlotBytes, variables::kPlan, variables::kRankPlans, "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
      unsetenv(name);
    }
  }
  static Config with(const std::map<std::string, std::string>& settings) {
    clear();
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    return Config::from_environment();
  }
};

TEST_F(ConfigTest, NothingSetMeansAutomatic) {
  const Config config = with({});
  EXPECT_EQ("", config.error);
  EXPECT_FALSE(config.off);
  EXPECT_FALSE(config.verify);
  EXPECT_EQ(BudgetSource::kAuto, config.budget_for(0).source);
  EXPECT_EQ(0U, config.host_budget);
  EXPECT_EQ(1, config.log_level);
}

TEST_F(ConfigTest, BudgetsAreReadInEveryForm) {
  EXPECT_EQ(10522669875.0, with({{"TFERRY_BUDGET", "10522669875"}}).budget_for(3).value);
  EXPECT_EQ(BudgetSource::kUnlimited, with({{"TFERRY_BUDGET", "unlimited"}}).budget_for(0).source);
  const BudgetRule share = with({{"TFERRY_BUDGET", "80.5%"}}).budget_for(0);
  EXPECT_EQ(BudgetSource::kPercent, share.source);
  EXPECT_EQ(80.5, share.value);
}

TEST_F(ConfigTest, ADevicesOwnBudgetComesBeforeTheGeneralOne) {
  const Config config = with({{"TFERRY_BUDGET", "1:4096,auto,0:50%"}});
  EXPECT_EQ("", config.error);
  EXPECT_EQ(50, config.budget_for(0).value);
  EXPECT_EQ(4096, config.budget_for(1).value);
  EXPECT_EQ(BudgetSource::kAuto, config.budget_for(2).source);
}

TEST_F(ConfigTest, GarbageIsNamedAndNothingElse) {
  for (const char* text : {"",   "much", "-5",   "5x",   "0",     "0%", "101%", "nan", "inf", "1e30",
                           "1:", ":5",   "16:5", "-1:5", "0.5:5", "5,", ",5",   "5 5", "%",   "auto5"}) {
    const Config config = with({{"TFERRY_BUDGET", text}});
    EXPECT_EQ(std::string("TFERRY_BUDGET=") + text + " is not a budget", config.error);
  }
}

TEST_F(ConfigTest, SizesThatAreNoneAreNamed) {
  for (const char* name :
       {"TFERRY_HOST_BUDGET", "TFERRY_RESERVE", "TFERRY_CHUNK", "TFERRY_MOVABLE", "TFERRY_LOG"}) {
    EXPECT_EQ(std::string(name) + "=ten is not a number of bytes", with({{name, "ten"}}).error);
    EXPECT_EQ("", with({{name, ""}}).error);
  }
  EXPECT_EQ("TFERRY_CHUNK is not a power of two", with({{"TFERRY_CHUNK", "3000000"}}).error);
}

TEST_F(ConfigTest, RanksAreOnTheirOwnUnlessToldOtherwise) {
  EXPECT_EQ(Coordination::kOff, with({}).coordination);
  EXPECT_EQ(Coordination::kOff, with({{"TFERRY_COORDINATE", "off"}}).coordination);
  EXPECT_EQ(Coordination::kInterleave, with({{"TFERRY_COORDINATE", "interleave"}}).coordination);
  const Config config = with({{"TFERRY_COORDINATE", "orchestrate"},
                              {"TFERRY_SLOT_SEGMENT", "/run/slots"},
                              {"TFERRY_SLOT_BYTES", "1048576"},
                              {"LOCAL_RANK", "3"},
                              {"LOCAL_WORLD_SIZE", "4"}});
  EXPECT_EQ(Coordination::kOrchestrate, config.coordination);
  EXPECT_EQ("/run/slots", config.slot_segment);
  EXPECT_EQ(std::size_t{1} << 20, config.slot_bytes);
  EXPECT_EQ(3, config.local_rank);
  EXPECT_EQ(4, config.local_ranks);
  EXPECT_EQ("TFERRY_COORDINATE=all is none of interleave, orchestrate and auto",
            with({{"TFERRY_COORDINATE", "all"}}).error);
}

TEST_F(ConfigTest, ARankFollowsThePlanOfItsNumber) {
  EXPECT_EQ("p", with({{"TFERRY_PLAN", "p"}, {"LOCAL_RANK", "3"}}).plan);
  EXPECT_EQ("p.1", with({{"TFERRY_PLAN", "p"}, {"TFERRY_RANK_PLANS", "2"}, {"LOCAL_RANK", "3"}}).plan);
  EXPECT_EQ("p.0", with({{"TFERRY_PLAN", "p"}, {"TFERRY_RANK_PLANS", "2"}}).plan);
}

TEST_F(ConfigTest, SwitchesAreOnUnlessZeroOrEmpty) {
  EXPECT_TRUE(with({{"TFERRY_OFF", "1"}}).off);
  EXPECT_FALSE(with({{"TFERRY_OFF", "0"}}).off);
  EXPECT_FALSE(with({{"TFERRY_OFF", ""}}).off);
  EXPECT_TRUE(with({{"TFERRY_VERIFY", "yes"}}).verify);
}

TEST(ParseBudgets, LeavesTheRulesAloneOnOtherText) {
  std::vector<BudgetRule> rules{{2, BudgetSource::kBytes, 7}};
  EXPECT_FALSE(parse_budgets("5,what", rules));
  ASSERT_EQ(1U, rules.size());
  EXPECT_EQ(2, rules[0].device);
}

}  // namespace
}  // namespace tferry::runtime
