// The session that was recorded on a real GPU: session in, query, expected answer. What is expected follows
// from the job (GPT-2 124 M, batch 8 x 1024, fp32, three steps behind one to warm up), so that it holds for a
// session that is recorded anew as well.
#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <regex>
#include <string>

namespace tferry {
namespace {

namespace fs = std::filesystem;
using cli::testing_support::Ended;

constexpr std::int64_t kTokens = 8 * 1024, kVocabulary = 50257, kWidth = 768, kSteps = 4;

class GoldenTest : public ::testing::Test {
 protected:
  GoldenTest() { fs::copy_file(TFERRY_GOLDEN_DIR "/gpt2.tferry", root_ / "golden.tferry"); }

  Ended sh(const std::string& line) const {
    return cli::testing_support::run_shell("export T=" TFERRY_PROGRAM " G=" TFERRY_GOLDEN_DIR
                                           " LD_LIBRARY_PATH=; cd " +
                                               root_.string() + "; " + line,
                                           root_);
  }
  nlohmann::json rows(const std::string& sql, const std::string& session = "golden.tferry") const {
    const Ended ended = sh("$T query \"" + sql + "\" " + session + " --format json");
    EXPECT_EQ(ended.exit_code(), 0) << ended.err;
    return ended.exit_code() == 0 ? nlohmann::json::parse(ended.out)["tables"][0]["rows"] : nlohmann::json();
  }
  std::int64_t number(const std::string& sql) const { return rows(sql).at(0).at("n").get<std::int64_t>(); }

  cli::testing_support::TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
};

TEST_F(GoldenTest, ItsSpoolsGiveTheSameSessionAgain) {
  for (const std::string source : {"runtime", "collector", "sampler"}) {
    ASSERT_EQ(sh("gunzip -c $G/gpt2." + source + ".spool.gz > spool.1." + source + ".0").exit_code(), 0);
  }
  ASSERT_EQ(sh("$T merge -q . -o again.tferry").exit_code(), 0);
  const Ended compared = sh("$T compare --structure golden.tferry again.tferry");
  EXPECT_EQ(compared.exit_code(), 0) << compared.out;
  for (const std::string table : {"kernel", "memcpy", "memset", "allocation", "access", "counter"}) {
    EXPECT_EQ(rows("SELECT count(*) AS n FROM " + table),
              rows("SELECT count(*) AS n FROM " + table, "again.tferry"))
        << table;
  }
}

TEST_F(GoldenTest, EveryCallHasItsRecordAndEveryRecordItsCall) {
  const auto meta = [this](const std::string& key) {
    return std::stoll(rows("SELECT value FROM meta WHERE key = 'join." + key + "'").at(0).at("value").dump());
  };
  EXPECT_GT(meta("calls"), 3000);
  EXPECT_EQ(meta("matched_calls"), meta("calls"));
  EXPECT_EQ(meta("matched_records"), meta("records"));
  EXPECT_EQ(number("SELECT count(*) AS n FROM kernel WHERE start_ns IS NULL OR end_ns <= start_ns"), 0);
  EXPECT_EQ(number("SELECT count(*) AS n FROM kernel WHERE start_ns < call_ns"), 0);
}

TEST_F(GoldenTest, TheLargestTensorsAreTheLogits) {
  const auto largest =
      rows("SELECT bytes, count(*) AS n FROM allocation GROUP BY bytes ORDER BY bytes DESC LIMIT 1");
  EXPECT_EQ(largest.at(0).at("bytes"), kTokens * kVocabulary * 4);
  EXPECT_EQ(largest.at(0).at("n").get<std::int64_t>() % kSteps, 0);
}

TEST_F(GoldenTest, TheEmbeddingItsGradientsAndBothMomentsAreThere) {
  // The weight and the optimizer's two moments stay, a gradient is made in each step.
  const std::string size = std::to_string(kVocabulary * kWidth * 4);
  EXPECT_GE(number("SELECT count(*) AS n FROM allocation WHERE bytes = " + size), 3 + kSteps);
  EXPECT_GE(number("SELECT count(*) AS n FROM allocation WHERE free_ns IS NOT NULL AND bytes = " + size),
            kSteps);
}

TEST_F(GoldenTest, TokensComeInOnceAStepAndTheLossGoesOut) {
  EXPECT_EQ(
      number("SELECT count(*) AS n FROM memcpy WHERE kind = 1 AND bytes = " + std::to_string(8 * 1025 * 8)),
      kSteps);
  EXPECT_EQ(number("SELECT count(*) AS n FROM memcpy WHERE kind = 2 AND bytes = 4"), kSteps);
}

TEST_F(GoldenTest, AStepsKernelsFillTheStepThatTheJobMeasured) {
  const std::string told = cli::testing_support::contents(TFERRY_GOLDEN_DIR "/gpt2.txt");
  std::smatch median;
  ASSERT_TRUE(std::regex_search(told, median, std::regex("step time median ([0-9.]+) ms"))) << told;
  ASSERT_EQ(sh("$T analyze golden.tferry --oversubscribe 1.5 -o analyzed.tferry").exit_code(), 0);
  const auto bound = rows("SELECT in_memory_ns, bound_ns FROM bound", "analyzed.tferry").at(0);
  const double step_ns = std::stod(median[1]) * 1e6, in_memory_ns = bound.at("in_memory_ns");
  EXPECT_LT(in_memory_ns, step_ns);
  EXPECT_GT(in_memory_ns, 0.9 * step_ns);
}

TEST_F(GoldenTest, NoSimulatedPolicyIsBelowTheBoundAndThePlanIsTheBest) {
  ASSERT_EQ(sh("$T analyze golden.tferry --oversubscribe 1.5 -o analyzed.tferry").exit_code(), 0);
  const auto bound = rows("SELECT bound_ns, in_memory_ns FROM bound", "analyzed.tferry").at(0);
  std::map<std::string, double> times;
  for (const auto& row : rows("SELECT policy, predicted_ns FROM simulation", "analyzed.tferry"))
    times[row.at("policy")] = row.at("predicted_ns");
  ASSERT_EQ(times.count("on-demand") + times.count("lms-early") + times.count("lookahead"), 3u);
  EXPECT_GT(bound.at("bound_ns"), bound.at("in_memory_ns"));
  EXPECT_GE(times["lookahead"], bound.at("bound_ns"));
  EXPECT_LT(times["lookahead"], times["lms-early"]);
  EXPECT_LT(times["lms-early"], times["on-demand"]);
}

}  // namespace
}  // namespace tferry
