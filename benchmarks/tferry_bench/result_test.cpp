#include "benchmarks/tferry_bench/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tferry::benchmarks {
namespace {

using Json = nlohmann::json;

Json step_result() {
  return Json::parse(R"({
    "schema": "tferry.result/1", "claim": "plan.vs_lms/gpt2/1.5", "kind": "measured",
    "command": "benchmarks/plan.py", "git": "abc", "date": "2026-01-01", "machine": {"gpu": "NVIDIA H200"},
    "subject": {"label": "plan", "samples_ns": [100, 200, 100]},
    "baseline": {"label": "lms", "samples_ns": [150, 260, 110]},
    "target": {"op": ">=", "value": 1.2}})");
}

TEST(Result, RatioIsTakenPairByPair) {
  const Result result(step_result());  // 1.5, 1.3, 1.1
  EXPECT_DOUBLE_EQ(result.measured()->median, 1.3);
  EXPECT_DOUBLE_EQ(result.measured()->low, 1.1);
  EXPECT_DOUBLE_EQ(result.measured()->high, 1.5);
  EXPECT_EQ(result.verdict(), "met");
}

TEST(Result, MissedWhenItCouldHaveBeenMetAndForbiddenWhenNot) {
  Json json = step_result();
  json["target"]["value"] = 1.4;
  EXPECT_EQ(Result(json).verdict(), "missed");
  json["bound_ns"] = 120;  // 150 / 120 = 1.25 at best
  EXPECT_EQ(Result(json).verdict(), "bound_forbids");
  json["bound_ns"] = 100;  // 1.5 at best
  EXPECT_EQ(Result(json).verdict(), "missed");
}

TEST(Result, ValuesAndTimesAreComparedAsTheyStand) {
  Json json = step_result();
  json["metric"] = "value";
  json["subject"] = {{"samples", {1.0, 1.0, 1.0}}};
  json["target"] = {{"op", "=="}, {"value", 1}};
  EXPECT_EQ(Result(json).verdict(), "met");
  json["subject"] = {{"samples", {1.0, 1.0, 0.0}}};
  EXPECT_EQ(Result(json).verdict(), "missed") << "by one of three, although the median is 1";
  json = step_result();
  json["metric"] = "time";
  json["target"] = {{"op", "<="}, {"value", 0.0002}};
  EXPECT_DOUBLE_EQ(Result(json).measured()->median, 0.0001);
  EXPECT_EQ(Result(json).verdict(), "met");
}

TEST(Result, SlowdownIsTheOtherWayRound) {
  Json json = step_result();  // 100/150, 200/260, 100/110
  json["metric"] = "slowdown";
  json["target"] = {{"op", "<="}, {"value", 0.77}};
  EXPECT_DOUBLE_EQ(Result(json).measured()->median, 200.0 / 260);
  EXPECT_EQ(Result(json).verdict(), "met");
  json["target"]["value"] = 0.7;
  EXPECT_EQ(Result(json).verdict(), "missed");
  json["bound_ns"] = 120;  // 120 / 150 = 0.8 at best
  EXPECT_EQ(Result(json).verdict(), "bound_forbids");
}

TEST(Result, NotRunNeedsNoSamplesAndHasNoRatio) {
  const Result result(Json::parse(R"({"schema": "tferry.result/1", "claim": "a", "kind": "not_run"})"));
  EXPECT_EQ(result.verdict(), "not_run");
  EXPECT_FALSE(result.completed().contains("ratio"));
}

TEST(Result, DefectiveFilesAreRefusedWithTheField) {
  const auto error = [](const std::function<void(Json&)>& spoil) {
    Json json = step_result();
    spoil(json);
    try {
      Result result(json);
    } catch (const BadResult& bad) {
      return std::string(bad.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(error([](Json& j) { j["schema"] = "tferry.result/2"; }), testing::HasSubstr("schema"));
  EXPECT_THAT(error([](Json& j) { j["subject"]["samples_ns"] = {100, 200}; }),
              testing::HasSubstr("not paired: 2 and 3"));
  EXPECT_THAT(error([](Json& j) { j["subject"]["samples_ns"] = {100, 0, 100}; }),
              testing::HasSubstr("impossible time"));
  EXPECT_THAT(error([](Json& j) { j["baseline"]["samples_ns"] = Json::array(); }),
              testing::HasSubstr("no samples"));
  EXPECT_THAT(error([](Json& j) { j["baseline"]["samples_ns"] = {"1", 2, 3}; }),
              testing::HasSubstr("no number"));
  EXPECT_THAT(error([](Json& j) { j.erase("baseline"); }), testing::HasSubstr("baseline.samples_ns"));
  EXPECT_THAT(error([](Json& j) { j["kind"] = "guessed"; }), testing::HasSubstr("kind"));
  EXPECT_THAT(error([](Json& j) { j["claim"] = "../../etc"; }),
              testing::Eq("accepted"));  // "..__..__etc.json"
  EXPECT_THAT(error([](Json& j) { j["claim"] = "/etc"; }), testing::HasSubstr("is no name"));
  EXPECT_THAT(error([](Json& j) { j["target"] = {{"op", ">"}, {"value", 1}}; }),
              testing::HasSubstr("target.op"));
  EXPECT_THAT(error([](Json& j) { j.erase("git"); }), testing::HasSubstr("git"));
  EXPECT_THAT(error([](Json& j) { j["machine"] = Json::object(); }), testing::HasSubstr("gpu"));
  EXPECT_THAT(error([](Json& j) { j = Json::array(); }), testing::HasSubstr("no JSON object"));
}

TEST(Result, CompletedIsReadBackAsTheSame) {
  const Json completed = Result(step_result()).completed();
  EXPECT_EQ(Result(Json::parse(completed.dump())).completed(), completed);
  EXPECT_EQ(completed["verdict"], "met");
  EXPECT_EQ(completed["ratio"]["samples"], 3);
}

TEST(FileName, PartsAreJoinedByUnderscores) {
  EXPECT_EQ(file_name("plan.vs_lms/gpt2/1.5"), "plan.vs_lms__gpt2__1.5.json");
  for (const char* bad : {"", "/", "a/", "a//b", "a b", "a\\b"})
    EXPECT_THROW(file_name(bad), BadResult) << bad;
}

}  // namespace
}  // namespace tferry::benchmarks
