#include "analyzer/planner/plan_json.hpp"

#include "analyzer/planner/lookahead.hpp"
#include "analyzer/workload/transformer.hpp"
#include "analyzer/workload/validate.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace tferry::analyzer {
namespace {

class PlanJson : public ::testing::Test {
 protected:
  PlanJson()
      : workload_(transformer_training(
            {.layers = 2, .width = 256, .batch = 2, .context = 512, .vocabulary = 2000})) {
    workload_.budget = workload_.budget * 2 / 3;
    LookaheadOptions options;
    options.rounds = 3;
    plan_ = plan_lookahead(workload_, options);
    text_ = to_json(plan_, workload_);
  }

  std::string error_with(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      plan_from_json(text, workload_);
    } catch (const WorkloadError& error) {
      return error.what();
    }
    return "accepted";
  }

  Workload workload_;
  Plan plan_;
  std::string text_;
};

TEST_F(PlanJson, WritingAndReadingGivesTheSame) {
  ASSERT_FALSE(plan_.actions.empty());
  EXPECT_EQ(plan_from_json(text_, workload_), plan_);
}

TEST_F(PlanJson, HandEditsAreCheckedBeforeUse) {
  EXPECT_EQ(error_with("\"bytes\": ", "\"bytes\": -"),
            "actions[0].bytes: a whole number from 0 to 1125899906842624 is expected here");
  EXPECT_NE(error_with("\"bytes\": ", "\"bytes\": 99").find("plan: actions[0]: "), std::string::npos);
  EXPECT_EQ(error_with("\"tensor\": \"", "\"tensor\": \"x").substr(0, 40),
            "actions[0].tensor: no tensor is named 'x");
  EXPECT_EQ(error_with("tferry.plan/1", "tferry.plan/9"), "schema: 'tferry.plan/9' is not 'tferry.plan/1'");
  EXPECT_EQ(error_with("\"leave_after\"", "\"leaves_after\""), "actions[0].leaves_after: is not known here");
}

TEST_F(PlanJson, EverythingThatIsWrongIsTold) {
  std::string text = text_;
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("tferry.plan/1", "tferry.plan/9");
  replace("\"bytes\": ", "\"bytes\": -");
  replace("\"leave_after\"", "\"leaves_after\"");  // of the same action: told when the first is mended
  text.replace(text.rfind("\"needed_by\""), 11, "\"needed\"");
  const PlanText read = read_plan(text, workload_);
  ASSERT_EQ(read.errors.size(), 3u);
  EXPECT_EQ(read.errors[0], "schema: 'tferry.plan/9' is not 'tferry.plan/1'");
  EXPECT_EQ(read.errors[1], "actions[0].leaves_after: is not known here");
  EXPECT_EQ(read.errors[2],
            "actions[" + std::to_string(plan_.actions.size() - 1) + "].needed: is not known here");
}

TEST_F(PlanJson, APlanForAnotherJobIsRefused) {
  const std::string operations = std::to_string(workload_.operations.size());
  EXPECT_EQ(error_with("\"operations\": " + operations, "\"operations\": 7"),
            "operations: the plan is for 7, the workload has " + operations);
}

TEST_F(PlanJson, APlanThatLacksAnActionExceedsTheBudget) {
  Plan less = plan_;
  less.actions.clear();
  EXPECT_THROW(plan_from_json(to_json(less, workload_), workload_), WorkloadError);
}

/// The keys of an object are, in order, those of its published schema, and among them what that asks for.
void expect_keys(const nlohmann::ordered_json& object, const nlohmann::ordered_json& schema) {
  std::vector<std::string> written, described;
  for (const auto& [key, ignored] : object.items()) written.push_back(key);
  for (const auto& [key, ignored] : schema["properties"].items()) described.push_back(key);
  EXPECT_EQ(written, described);
  for (const auto& required : schema["required"])
    EXPECT_TRUE(object.contains(required.get<std::string>())) << required;
  EXPECT_EQ(schema["additionalProperties"], false);
}

TEST_F(PlanJson, HasThePublishedForm) {
  std::ifstream file(TFERRY_PLAN_SCHEMA);
  const auto schema = nlohmann::ordered_json::parse(file);
  const auto document = nlohmann::ordered_json::parse(text_);
  expect_keys(document, schema);
  expect_keys(document["actions"][0], schema["properties"]["actions"]["items"]);
  EXPECT_EQ(schema["properties"]["schema"]["const"], kPlanSchema);
}

TEST_F(PlanJson, DamagedTextIsRefused) {
  for (std::size_t length = 0; length + 2 < text_.size(); length += 1 + length / 20) {
    EXPECT_THROW(plan_from_json(text_.substr(0, length), workload_), WorkloadError);
  }
}

}  // namespace
}  // namespace tferry::analyzer
