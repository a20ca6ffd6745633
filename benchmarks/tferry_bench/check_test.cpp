#include "benchmarks/tferry_bench/check.hpp"

#include "benchmarks/tferry_bench/record.hpp"
#include "benchmarks/tferry_bench/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdlib.h>

namespace tferry::benchmarks {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTargets = R"({"targets": [
  {"claim": "run.step", "target": {"op": ">=", "value": 0.7}, "origin": "the first issue"},
  {"claim": "run.same", "target": {"op": "==", "value": 1}, "origin": "the first issue"}]})";

constexpr const char* kRaw = R"({"schema": "tferry.raw/1", "date": "2026-01-01", "git": "abc",
  "machine": {"gpu": "NVIDIA H200"}, "cells": [], "measurements": [
  {"claim": "run.step", "kind": "measured", "command": "c", "subject": {"samples_ns": [200, 250]},
   "baseline": {"samples_ns": [160, 180]}},
  {"claim": "run.same", "kind": "measured", "command": "c", "metric": "value", "subject": {"samples": [1]}}]})";

/// A source tree with targets.json in a folder of its own.
class FigureTree : public testing::Test {
 protected:
  FigureTree() {
    std::string pattern = (fs::temp_directory_path() / "tferry-bench-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    write("benchmarks/targets.json", kTargets);
    fs::create_directories(root_ / "benchmarks/results");
    fs::create_directories(root_ / "docs/results");
  }
  ~FigureTree() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  Repository read() const { return read_repository(root_); }
  std::vector<std::string> problems() const { return check(read()); }

  /// What a user does after a measurement.
  void record_and_publish() {
    const Repository before = read();
    for (const Result& result : results_from_raw(nlohmann::json::parse(kRaw), before, ""))
      write_result(before, result);
    write("docs/results/figures.md", summary_markdown(read()));
  }

  void edit_result(const std::string& name, const std::function<void(nlohmann::json&)>& change) {
    const fs::path file = root_ / "benchmarks/results" / name;
    nlohmann::json json = read_json(file);
    change(json);
    std::ofstream(file) << json.dump();
  }

  fs::path root_;
};

TEST_F(FigureTree, ARecordedAndPublishedMeasurementIsWell) {
  record_and_publish();
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(summary_table(read()), HasSubstr("met"));
}

TEST_F(FigureTree, TargetsWithoutFilesAreListedAndNotRunIsAFile) {
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("run.step has no usable file"),
                                      HasSubstr("run.same has no usable file")));
  const Repository before = read();
  for (const Result& result : missing_results(before)) write_result(before, result);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_EQ(read().results.at("run.step").json()["note"], "asked for by the first issue");
}

TEST_F(FigureTree, AMedianThatDoesNotFollowFromTheSamplesIsFound) {
  record_and_publish();
  edit_result("run.step.json", [](nlohmann::json& json) { json["ratio"]["median"] = 0.9; });
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("run.step.json: ratio.median is 0.9, the samples give 0.76")));
}

TEST_F(FigureTree, AVerdictThatIsTooGoodIsFound) {
  record_and_publish();
  edit_result("run.same.json", [](nlohmann::json& json) {
    json["subject"]["samples"] = {0};
    json["ratio"]["median"] = json["ratio"]["low"] = json["ratio"]["high"] = 0;
  });
  EXPECT_THAT(problems(),
              testing::Contains(HasSubstr("run.same.json: verdict is \"met\", the samples give \"missed\"")));
}

TEST_F(FigureTree, ALoweredTargetIsFound) {
  record_and_publish();
  edit_result("run.step.json", [](nlohmann::json& json) { json["target"]["value"] = 0.1; });
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("run.step.json: its target is")));
}

TEST_F(FigureTree, StalePagesAndUnknownClaimsAreFound) {
  record_and_publish();
  write("README.md",
        "twice\n\nas fast: 0.81x<!-- claim: run.step median -->, 5<!-- claim: run.stop median -->\n");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("README.md:3: says 0.81, but median of run.step is 0.76"),
                          HasSubstr("README.md:3: quotes run.stop, of which there is no usable file")));
}

TEST_F(FigureTree, AResultThatNoPageQuotesIsFound) {
  record_and_publish();
  write("docs/results/figures.md", "0.760<!-- claim: run.step median -->");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("run.same.json: is quoted neither")));
}

TEST_F(FigureTree, FindingsOfExperimentsClaimNothingAndNeedNoQuote) {
  record_and_publish();
  write("benchmarks/results/card.json", R"({"schema": "tferry.experiments/1", "experiments": {}})");
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(read().results, testing::SizeIs(2));
  write("benchmarks/results/card.json", R"({"schema": "tferry.experiment/1"})");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("card.json: schema is not tferry.result/1")));
}

TEST_F(FigureTree, DefectiveFilesAreProblemsAndNotTheEnd) {
  record_and_publish();
  write("benchmarks/results/run.step.json", "{\"schema\": ");
  write("benchmarks/results/other.json", R"({"schema": "tferry.result/1", "claim": "x", "kind": "not_run"})");
  EXPECT_THAT(problems(),
              testing::IsSupersetOf({HasSubstr("is no JSON"), HasSubstr("so its name must be x.json"),
                                     HasSubstr("run.step has no usable file")}));
  write("benchmarks/targets.json", R"({"targets": [1]})");
  EXPECT_THAT(problems(), testing::Contains(HasSubstr("targets.json: ")));
}

TEST_F(FigureTree, FilesOfAnotherSchemaAreLeftAloneButNotThoseOfALaterVersion) {
  record_and_publish();
  write("benchmarks/results/experiments.json", R"({"schema": "tferry.experiments/1"})");
  EXPECT_THAT(problems(), IsEmpty());
  write("benchmarks/results/later.json", R"({"schema": "tferry.result/2"})");
  write("benchmarks/results/none.json", R"({"claim": "x"})");
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("later.json: schema is not"), HasSubstr("none.json: schema is not")));
}

TEST_F(FigureTree, DefectiveRawFilesAreRefusedWithTheEntry) {
  const auto error = [&](const std::function<void(nlohmann::json&)>& spoil) {
    nlohmann::json raw = nlohmann::json::parse(kRaw);
    spoil(raw);
    try {
      results_from_raw(raw, read(), "");
    } catch (const BadResult& bad) {
      return std::string(bad.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(error([](auto& raw) { raw["schema"] = "x"; }), HasSubstr("schema"));
  EXPECT_THAT(error([](auto& raw) { raw.erase("measurements"); }), HasSubstr("measurements"));
  EXPECT_THAT(error([](auto& raw) { raw["measurements"][1].erase("subject"); }),
              HasSubstr("measurement 1 (run.same)"));
  EXPECT_THAT(error([](auto& raw) { raw["git"] = ""; }), HasSubstr("git is missing"));
}

}  // namespace
}  // namespace tferry::benchmarks
