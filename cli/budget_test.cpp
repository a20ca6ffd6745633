#include "cli/budget.hpp"

#include "cli/failure.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace tferry::cli {
namespace {

std::string in_environment(const char* text) { return Budget::parse(text).to_environment(); }

TEST(Budget, BecomesWhatTheRuntimeReads) {
  EXPECT_EQ(in_environment("auto"), "auto");
  EXPECT_EQ(in_environment("unlimited"), "unlimited");
  EXPECT_EQ(in_environment("9.8GiB"), "10522669875");
  EXPECT_EQ(in_environment("80%"), "80%");
  EXPECT_EQ(in_environment("12.5%"), "12.50%");
  EXPECT_EQ(in_environment("100%"), "100%");
  EXPECT_EQ(in_environment("0:24GiB,1:40GiB"), "0:25769803776,1:42949672960");
  EXPECT_EQ(in_environment("3:1GiB"), "3:1073741824");
}

TEST(Budget, IsDescribedInBytes) {
  EXPECT_EQ(Budget::parse("9.8GiB").describe(), "9.80 GiB (10522669875 bytes)");
  EXPECT_EQ(Budget::parse("80%").describe(), "80% of the card");
  EXPECT_EQ(Budget::parse("1:1GiB,0:2GiB").describe(),
            "device 1: 1.00 GiB (1073741824 bytes), device 0: 2.00 GiB (2147483648 bytes)");
}

TEST(Budget, RejectsNonsense) {
  for (const char* text : {"",         "Auto",    "0",       "0GiB",    "-1GiB",
                           "0%",       "101%",    "%",       "1e1%",    "12.345%",
                           "-5%",      "80 %",    "50.%",    "9999%",   ":1GiB",
                           "0:",       "0:0",     "0:1GiB,", ",0:1GiB", "0:1GiB,0:2GiB",
                           "16:1GiB",  "-1:1GiB", "x:1GiB",  "0:80%",   "0:1GiB;1:1GiB",
                           "1GiB,2GiB"}) {
    EXPECT_THROW(Budget::parse(text), Failure) << text;
  }
}

RC_GTEST_PROP(BudgetProperty, AnythingIsAcceptedOrRejectedWithARemedy, (const std::string& text)) {
  try {
    RC_ASSERT(!Budget::parse(text).to_environment().empty());
  } catch (const Failure& failure) {
    RC_ASSERT(!failure.remedy().empty());
  }
}

RC_GTEST_PROP(BudgetProperty, WhatTheRuntimeReadsMeansTheSame, ()) {
  const auto bytes = *rc::gen::inRange<std::int64_t>(1, 1LL << 62);
  const Budget budget = Budget::parse(std::to_string(bytes));
  RC_ASSERT(budget.amount() == bytes);
  RC_ASSERT(Budget::parse(budget.to_environment()).amount() == bytes);
}

}  // namespace
}  // namespace tferry::cli
