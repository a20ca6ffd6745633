#include "benchmarks/tferry_bench/figure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tferry::benchmarks {
namespace {

Result example() {
  return Result(nlohmann::json::parse(R"({
    "schema": "tferry.result/1", "claim": "a/b", "kind": "measured", "command": "c", "git": "g", "date": "d",
    "machine": {"gpu": "x", "h2d_gbps": 55.1}, "subject": {"samples_ns": [212340000]},
    "baseline": {"samples_ns": [178200000]}, "bound_ns": 188000000,
    "target": {"op": ">=", "value": 0.7}, "checks": {"budget_bytes": 10522669875}})"));
}

TEST(Quotes, TheFigureStandsRightBeforeTheMarker) {
  const auto quotes = find_quotes(
      "README.md",
      "A step takes **212.3 ms**<!-- claim: a/b subject.median_ms -->, in\n"
      "| 9.80 GiB<!--claim: a/b checks.budget_bytes/GiB--> | 83.9 %<!-- claim: a/b median% --> |\n"
      "10,522,669,875<!-- claim: a/b checks.budget_bytes --> and met<!-- claim: a/b verdict -->\n"
      "about 0.8-0.84x<!-- claim: a/b median --> <!-- claim: a/b low -->\n");
  std::vector<std::string> figures;
  for (const Quote& quote : quotes) figures.push_back(std::to_string(quote.line) + ":" + quote.figure);
  EXPECT_THAT(figures, testing::ElementsAre("1:212.3", "2:9.80", "2:83.9", "3:10,522,669,875", "3:met",
                                            "4:0.84", "4:"));
  for (const Quote& quote : quotes) {
    EXPECT_EQ(check_quote(quote, example()).empty(), quote.field != "low")
        << quote.figure << " " << quote.field;
  }
}

TEST(Quotes, FieldsAreComputedFromTheSamples) {
  const Result result = example();
  EXPECT_NEAR(*field_value(result, "median"), 0.83922, 1e-5);
  EXPECT_DOUBLE_EQ(*field_value(result, "baseline.median_ms"), 178.2);
  EXPECT_DOUBLE_EQ(*field_value(result, "bound_ms"), 188);
  EXPECT_DOUBLE_EQ(*field_value(result, "machine.h2d_gbps"), 55.1);
  EXPECT_DOUBLE_EQ(*field_value(result, "target"), 0.7);
  for (const char* none :
       {"predicted_ms", "machine", "machine.gpu", "checks.moved_bytes/GiB", "a.b.c", "."}) {
    EXPECT_FALSE(field_value(result, none)) << none;
  }
}

TEST(Quotes, RoundingIsToTheDecimalsWritten) {
  EXPECT_TRUE(is_rounded("212", 212.34));
  EXPECT_TRUE(is_rounded("212.3", 212.34));
  EXPECT_FALSE(is_rounded("212.4", 212.34));
  EXPECT_FALSE(is_rounded("212.30", 212.34));
  EXPECT_TRUE(is_rounded("2.5", 2.45));
  EXPECT_TRUE(is_rounded("1,024", 1024));
  EXPECT_FALSE(is_rounded("", 0));
}

TEST(Quotes, WrongFiguresAreNamed) {
  const auto problem = [](const char* text) { return check_quote(find_quotes("p", text).at(0), example()); };
  EXPECT_THAT(problem("213 ms<!-- claim: a/b subject.median_ms -->"),
              testing::HasSubstr("says 213, but subject.median_ms"));
  EXPECT_THAT(problem("missed<!-- claim: a/b verdict -->"), testing::HasSubstr("the verdict of a/b is met"));
  EXPECT_THAT(problem("fast<!-- claim: a/b median -->"), testing::HasSubstr("no figure"));
  EXPECT_THAT(problem("1<!-- claim: a/b checks.nothing -->"),
              testing::HasSubstr("has no value checks.nothing"));
}

}  // namespace
}  // namespace tferry::benchmarks
