// analyze --planner exec:PROGRAM as a user calls it: scripts of sh as planners, and the sample's.
#include "cli/testing/layers_session.hpp"
#include "cli/testing/program_fixture.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
using testing_support::contents;
using testing_support::Ended;
using testing_support::LayersSession;

class ExecPlannerTest : public testing_support::ProgramTest {
 protected:
  /// Three tensors of 8 MiB, two of which an operation uses at a time, in 18 MiB: nine chunks of 2 MiB.
  ExecPlannerTest() { LayersSession{.iterations = 12}.write((root_ / "a.tferry").string()); }

  void planner(const std::string& script) const {
    std::ofstream(root_ / "mine") << "#!/bin/sh\n" << script << "\n";
    fs::permissions(root_ / "mine", fs::perms::owner_all);
  }
  Ended analyze(const std::string& more = "") const {
    return sh("$T analyze a.tferry --budget 18MiB --planner exec:./mine " + more);
  }
  /// The planner fails with these words, and nothing is left of it.
  void expect_failure(const std::string& script, const std::string& part,
                      const std::string& more = "") const {
    planner(script);
    const std::string before = contents(root_ / "a.tferry");
    const Ended ended = analyze(more);
    EXPECT_EQ(ended.exit_code(), 125) << ended.err;
    EXPECT_TRUE(ended.told(part)) << ended.err;
    EXPECT_TRUE(ended.told("tferry: what to do: ")) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(before == contents(root_ / "a.tferry")) << "the session is as it was";
    EXPECT_EQ(sh("ls -A places").out, "") << "nothing is left where temporary files go";
  }
};

TEST_F(ExecPlannerTest, ItsPlanIsJudgedPlacedAndStoredAsOurs) {
  ASSERT_EQ(sh("$T analyze a.tferry --budget 18MiB && $T plan export a.tferry -o ours.json").exit_code(), 0);
  // Our own plan as it stands, for whichever of the budgets is asked for.
  planner("sed \"s/\\\"budget\\\": .*/$(grep -o '\"budget\": [0-9]*,' | tail -n 1)/\" ours.json");
  const Ended ended = analyze();
  ASSERT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("What moves in every iteration under plan 2")) << ended.out;
  EXPECT_EQ(
      sh("$T query 'SELECT count(DISTINCT bytes_out || predicted_ns || sha256) AS n, max(planner) AS who "
         "FROM plan' a.tferry --format csv")
          .out,
      "n,who,known_by\n1,lookahead,measured\n")
      << "the same plan has the same places, time and digest";
  EXPECT_EQ(sh("$T query 'SELECT planner, policy FROM plan JOIN simulation ON plan_id = plan.id' a.tferry "
               "--format csv")
                .out,
            "planner,policy,known_by\nexec:mine,exec:mine,measured\n");
  EXPECT_TRUE(sh("$T plan check a.tferry").told("a.tferry, plan 2 (exec:mine) can be followed"));
}

TEST_F(ExecPlannerTest, ItGetsTheWorkloadOfThePlanAndNothingElse) {
  planner("[ $# = 0 ] || exit 7\ncat > given.json\necho thinking >&2\nexit 3");
  const Ended ended = analyze();
  EXPECT_TRUE(ended.told("thinking\n")) << "its standard error is shown";
  EXPECT_TRUE(ended.told("exec:mine ended with exit status 3")) << ended.err;
  EXPECT_EQ(sh("$T import given.json -o given.tferry").exit_code(), 0) << "it is a workload as documented";
  EXPECT_TRUE(sh("cat given.json").printed("\"budget\": 16777216,")) << "eight of nine chunks";
}

TEST_F(ExecPlannerTest, WhateverGoesWrongIsNamedAndLeavesNothing) {
  expect_failure("exit 3", "exec:mine ended with exit status 3");
  expect_failure("kill -SEGV $$", "exec:mine was ended by signal 11 (Segmentation fault)");
  expect_failure("cat > /dev/null", "exec:mine printed nothing");
  expect_failure("echo no plan", "the plan of exec:mine cannot be followed: 1 fault");
  expect_failure(
      "echo '{\"schema\": \"tferry.plan/1\", \"planner\": \"x\", \"workload\": \"\", \"operations\": "
      "3, \"budget\": 16777216, \"predicted_ns\": 0, \"actions\": []}'",
      "bytes on the card, the budget is 16777216");
  expect_failure("no-such-program-anywhere", "exec:mine ended with exit status 127");
  expect_failure("exec tr '\\0' x < /dev/zero", "exec:mine printed more than 64 MiB");
}

TEST_F(ExecPlannerTest, ATimeLimitEndsItAndWhatItStarted) {
  expect_failure("sleep 1000 & echo $! > child; wait", "exec:mine did not end within 0.3 s",
                 "--planner-limit 300ms");
  EXPECT_EQ(
      sh("while kill -0 $(cat child) && ! grep -q '^State:.Z' /proc/$(cat child)/status; do sleep 0.01; "
         "done")
          .exit_code(),
      0);
  expect_failure("exec >&-; sleep 1000", "exec:mine did not end within 0.3 s", "--planner-limit 300ms");
}

TEST_F(ExecPlannerTest, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [this](const std::string& options, const std::string& part) {
    const Ended ended = sh("$T analyze a.tferry " + options);
    EXPECT_NE(ended.exit_code(), 0) << options;
    EXPECT_TRUE(ended.told(part)) << options << "\n" << ended.err;
  };
  planner("exit 0");
  refused("--budget 18MiB --planner mine", "--planner: there is no planner mine");
  refused("--budget 18MiB --planner exec:", "--planner: there is no planner exec:");
  refused("--budget 18MiB --planner exec:./none", "./none");
  refused("--planner exec:./mine", "--planner is about plans");
  refused("--budget 18MiB --no-plan --planner exec:./mine", "--planner is about plans");
  refused("--budget 18MiB --ranks-share 2 --planner exec:./mine", "--ranks-share makes its plans");
  refused("--budget 18MiB --planner exec:./mine --planner-limit soon", "--planner-limit");
}

TEST_F(ExecPlannerTest, TheSamplePlans) {
  if (sh("command -v python3").exit_code() != 0) GTEST_SKIP() << "there is no Python";
  const Ended ended = sh("$T analyze a.tferry --budget 18MiB --planner exec:" TFERRY_SAMPLE_PLANNER);
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(sh("$T plan check a.tferry").told("plan 1 (exec:planner.py) can be followed"));
}

}  // namespace
}  // namespace tferry::cli
