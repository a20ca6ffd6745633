#include "cli/job/environment.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tferry::cli {
namespace {

std::vector<std::string> contents(Environment& environment) {
  std::vector<std::string> result;
  for (const char* variable : environment.pointers()) {
    if (variable != nullptr) result.emplace_back(variable);
  }
  return result;
}

TEST(Environment, KeepsWhatItWasGiven) {
  const std::array<const char*, 4> variables = {"A=1", "B=", "odd", nullptr};
  Environment environment(variables.data());
  EXPECT_EQ(contents(environment), (std::vector<std::string>{"A=1", "B=", "odd"}));
  EXPECT_EQ(environment.get("A"), "1");
  EXPECT_EQ(environment.get("B"), "");
  EXPECT_EQ(environment.get("odd"), std::nullopt);
  EXPECT_TRUE(environment.changes().empty());
}

TEST(Environment, RemembersEveryChangeAndWhatWasThereBefore) {
  const std::array<const char*, 3> variables = {"LD_PRELOAD=/user.so", "AB=x", nullptr};
  Environment environment(variables.data());
  environment.prepend("LD_PRELOAD", "/ours.so", ':');
  environment.set("A", "new");
  EXPECT_EQ(contents(environment),
            (std::vector<std::string>{"LD_PRELOAD=/ours.so:/user.so", "AB=x", "A=new"}));
  ASSERT_EQ(environment.changes().size(), 2u);
  EXPECT_EQ(environment.changes()[0].before, "/user.so");
  EXPECT_EQ(environment.changes()[1].before, std::nullopt);
}

TEST(Environment, DoesNotRepeatItself) {
  Environment environment(nullptr);
  environment.prepend("LD_PRELOAD", "/ours.so", ':');
  environment.prepend("LD_PRELOAD", "/ours.so", ':');
  environment.set("A", "1");
  environment.set("A", "1");
  EXPECT_EQ(contents(environment), (std::vector<std::string>{"LD_PRELOAD=/ours.so", "A=1"}));
  EXPECT_EQ(environment.changes().size(), 2u);
}

}  // namespace
}  // namespace tferry::cli
