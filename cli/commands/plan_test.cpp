// analyze and plan as a user calls them: session in, command, expected text.
#include "cli/testing/layers_session.hpp"
#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace tferry::cli {
namespace {

using testing_support::contents;
using testing_support::Ended;
using testing_support::LayersSession;

class PlanTest : public testing_support::ProgramTest {
 protected:
  /// Three tensors of 8 MiB, two of which an operation uses at a time, in 18 MiB: nine chunks of 2 MiB.
  void analyzed(const std::string& name = "a.tferry") const {
    LayersSession{.iterations = 12}.write((root_ / name).string());
    const Ended ended = sh("$T analyze " + name + " --budget 18MiB");
    ASSERT_EQ(ended.exit_code(), 0) << ended.err;
    ASSERT_TRUE(ended.told("next: tferry run --plan " + name)) << ended.err;
  }
  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
  }
  nlohmann::ordered_json exported() const {
    const Ended ended = sh("$T plan export a.tferry");
    EXPECT_EQ(ended.exit_code(), 0) << ended.err;
    return nlohmann::ordered_json::parse(ended.out);
  }
  void expect_failure(const std::string& line, const std::string& part) const {
    const Ended ended = sh(line);
    EXPECT_EQ(ended.exit_code(), 125) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told(part)) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told("tferry: what to do: ")) << line << "\n" << ended.err;
    EXPECT_EQ(ended.out, "") << line;
  }
};

TEST_F(PlanTest, AnalyzeMakesOneAndSaysWhatMoves) {
  LayersSession{.iterations = 12}.write((root_ / "a.tferry").string());
  const Ended ended = sh("$T analyze a.tferry --budget 18MiB");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("lookahead")) << ended.out;
  EXPECT_TRUE(ended.printed("What moves in every iteration under plan 1")) << ended.out;
  EXPECT_TRUE(ended.printed("8388608 bytes #")) << ended.out;
  EXPECT_FALSE(sh("$T analyze a.tferry --budget 18MiB --no-plan").printed("What moves")) << "none was made";
}

TEST_F(PlanTest, EffortIsANameOrANumberOfSearches) {
  LayersSession{.iterations = 12}.write((root_ / "a.tferry").string());
  for (const char* const effort : {"fast", "normal", "high", "3"}) {
    const Ended ended = sh(std::string("$T analyze a.tferry --budget 18MiB --effort ") + effort);
    EXPECT_EQ(ended.exit_code(), 0) << ended.err;
    EXPECT_TRUE(ended.printed("What moves in every iteration under plan")) << effort << ended.out;
  }
  for (const char* const wrong : {"slow", "0", "3x", "1001"})
    expect_failure(std::string("$T analyze a.tferry --budget 18MiB --effort ") + wrong,
                   std::string("--effort: ") + wrong + " is neither a name nor a number from 1 to 1000");
  expect_failure("$T analyze a.tferry --budget 18MiB --effort high --planner exec:./mine",
                 "--effort is about plans by lookahead");
}

TEST_F(PlanTest, TheCurveTellsItsKnee) {
  LayersSession{.iterations = 12}.write((root_ / "a.tferry").string());
  const Ended ended = sh("$T analyze a.tferry --budget 18MiB --curve --format json");
  ASSERT_EQ(ended.exit_code(), 0) << ended.err;
  const auto json = nlohmann::json::parse(ended.out);
  const auto curve = std::find_if(json["tables"].begin(), json["tables"].end(),
                                  [](const auto& table) { return table["name"] == "curve"; });
  ASSERT_NE(curve, json["tables"].end());
  std::size_t marked = 0;
  for (const auto& row : (*curve)["rows"])
    marked += row["point"].get<std::string>().find("5 %") != std::string::npos;
  EXPECT_EQ(marked, 1u) << "the smallest budget within 5 %";
  EXPECT_NE((*curve)["notes"].dump().find("knee: "), std::string::npos) << (*curve)["notes"];
}

TEST_F(PlanTest, TensorsAreCalledWhatTheProgramCallsThem) {
  LayersSession{.iterations = 12}.write((root_ / "a.tferry").string());
  trace::Database((root_ / "a.tferry").string(), trace::Database::Mode::kReadWrite)
      .execute(
          "INSERT INTO allocation_name VALUES (1, 'h.0.mlp.weight', 'weight', 'pytorch'), (2, "
          "'h.1.mlp.weight', 'weight', 'pytorch'), (3, 'h.0.mlp.weight', 'gradient', 'pytorch')");
  const Ended ended = sh("$T analyze a.tferry --budget 18MiB --explain h.1");
  EXPECT_TRUE(ended.printed("What the plan does with weight h.1.mlp.weight")) << ended.out << ended.err;
  EXPECT_TRUE(ended.printed("\n  weight h.")) << "what moves\n" << ended.out;
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(sh("$T plan show a.tferry").printed("\n  weight h."));
    EXPECT_EQ(exported()["actions"][0]["tensor"].get<std::string>().substr(0, 9), "weight h.");
    ASSERT_EQ(sh("$T analyze a.tferry --budget 18MiB").exit_code(), 0) << "names do not change";
  }
  EXPECT_EQ(sh("$T plan check a.tferry:1").exit_code(), 0) << "nor do those of a plan made before";
  expect_failure("$T analyze a.tferry --budget 18MiB --explain mlp", "the plan knows 3 tensors like mlp");
  expect_failure("$T analyze a.tferry --budget 18MiB --explain mlp", "gradient h.0.mlp.weight");
  expect_failure("$T analyze a.tferry --budget 18MiB --explain bias", "the plan knows no tensor bias");
}

// The third one is the second with less of one tensor away.
TEST_F(PlanTest, TwoPlansAreListedAndCompared) {
  analyzed();
  ASSERT_EQ(sh("$T analyze a.tferry --budget 23MiB").exit_code(), 0);
  auto edited = exported();
  edited["actions"][0]["bytes"] = edited["actions"][0]["bytes"].get<std::int64_t>() - (2 << 20);
  write_file("less.json", edited.dump());
  const Ended imported = sh("$T plan import a.tferry less.json");
  ASSERT_EQ(imported.exit_code(), 0) << imported.err;
  const auto listed = nlohmann::json::parse(sh("$T plan list a.tferry --format json").out);
  ASSERT_EQ(listed["tables"].size(), 1u);
  EXPECT_EQ(listed["tables"][0]["rows"].size(), 3u);
  const auto differ = nlohmann::json::parse(sh("$T plan diff a.tferry:2 a.tferry:3 --format json").out);
  EXPECT_EQ(differ["tables"][0]["rows"][0]["leaves"].get<std::int64_t>() -
                differ["tables"][0]["rows"][1]["leaves"].get<std::int64_t>(),
            2 << 20);
  ASSERT_EQ(differ["tables"][1]["rows"].size(), 1u);
  EXPECT_EQ(differ["tables"][1]["rows"][0]["tensor"], edited["actions"][0]["tensor"]);
  const auto same = nlohmann::json::parse(sh("$T plan diff a.tferry:3 a.tferry:3 --format json").out);
  EXPECT_TRUE(same["tables"][1]["rows"].empty());
  expect_failure("$T plan diff a.tferry:1 a.tferry:7", "a.tferry has no plan 7");
}

TEST_F(PlanTest, ShowTellsOfThePlanAndItsOperations) {
  analyzed();
  ASSERT_EQ(sh("$T analyze a.tferry --budget 20MiB").exit_code(), 0);
  const auto json = nlohmann::json::parse(sh("$T plan show a.tferry:1 --format json").out);
  ASSERT_EQ(json["tables"].size(), 2u);
  const auto& plans = json["tables"][0]["rows"];
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0]["budget"], 18 << 20);
  EXPECT_EQ(plans[1]["budget"], 20 << 20);
  EXPECT_EQ(plans[0]["chunks"], 8);
  EXPECT_GT(plans[0]["over_bound"].get<double>(), -1e-9);
  EXPECT_FALSE(json["tables"][1]["rows"].empty());
  EXPECT_EQ(json["tables"][1]["rows"][0]["leaves_after_operation"], "first(float*)");
  expect_failure("$T plan show a.tferry:7", "a.tferry has no plan 7");
  expect_failure("$T plan show a.tferry:x", "a.tferry:x: x is no number of a plan");
}

TEST_F(PlanTest, ExportedPlansComeBackAsNewOnes) {
  analyzed();
  ASSERT_EQ(sh("$T plan export a.tferry -o p.json").exit_code(), 0);
  EXPECT_EQ(contents(root_ / "p.json"), sh("$T plan export a.tferry:1").out);
  expect_failure("$T plan export a.tferry -o p.json", "p.json exists already");
  const Ended ended = sh("$T plan import a.tferry p.json");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.told("plan 2 of a.tferry: ")) << ended.err;
  EXPECT_EQ(sh("$T plan export a.tferry:2").out, contents(root_ / "p.json"));
  const Ended tensors =
      sh("$T query 'SELECT count(*) AS n FROM plan_action JOIN tensor ON tensor.id = tensor_id AND "
         "tensor.name = tensor WHERE plan_id = 2' a.tferry --format csv");
  EXPECT_EQ(tensors.out, sh("$T query 'SELECT count(*) AS n FROM plan_action WHERE plan_id = 1' a.tferry "
                            "--format csv")
                             .out);
}

TEST_F(PlanTest, CheckTellsEverythingThatIsWrong) {
  analyzed();
  const Ended good = sh("$T plan check a.tferry");
  EXPECT_EQ(good.exit_code(), 0) << good.err;
  EXPECT_TRUE(good.told("a.tferry, plan 1 (lookahead) can be followed: ")) << good.err;

  auto edited = exported();
  edited["actions"][0]["tensor"] = "x";
  edited["operations"] = 7;
  write_file("p.json", edited.dump());
  expect_failure("$T plan check a.tferry p.json", "p.json cannot be followed: 2 faults");
  expect_failure("$T plan check a.tferry p.json", "actions[0].tensor: no tensor is named 'x'");
  expect_failure("$T plan check a.tferry p.json", "operations: the plan is for 7, the workload has 3");
  expect_failure("$T plan import a.tferry p.json", "2 faults");
  EXPECT_EQ(sh("$T query 'SELECT count(*) AS n FROM plan' a.tferry --format csv").out,
            "n,known_by\n1,measured\n");

  write_file("p.json", "{");
  expect_failure("$T plan check a.tferry p.json", "not JSON");
  expect_failure("$T plan check a.tferry none.json", "none.json: No such file or directory");
  auto nothing = exported();
  nothing["actions"] = nlohmann::json::array();
  write_file("p.json", nothing.dump());
  expect_failure("$T plan check a.tferry p.json", "bytes on the card, the budget is 16777216");
}

TEST_F(PlanTest, WithoutAPlanItSaysHowToMakeOne) {
  LayersSession{.iterations = 12}.write((root_ / "a.tferry").string());
  expect_failure("$T plan export a.tferry", "a.tferry has no plan");
  EXPECT_TRUE(sh("$T plan show a.tferry").printed("there is no plan; run tferry analyze --budget"));
  EXPECT_TRUE(sh("$T report plan a.tferry").printed("there is no plan"));
}

}  // namespace
}  // namespace tferry::cli
