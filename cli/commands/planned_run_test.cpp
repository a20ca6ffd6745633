// profile, analyze, run --plan: the whole way on the software driver.
#include "cli/testing/profile_fixture.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace tferry::cli {
namespace {

using testing_support::contents;
using testing_support::Ended;
namespace fs = std::filesystem;

constexpr const char* kJob = "$S --buffers 24 --mib 4 --hidden 2 --iterations ";

class PlannedRunTest : public testing_support::ProfileFixture {
 protected:
  /// a.tferry: a recording of the job, and a plan for two thirds of its memory.
  void planned() const {
    const Ended profile = sh(std::string("$T profile -q --counters off -o a.tferry ") + kJob + "6");
    ASSERT_EQ(profile.exit_code(), 0) << profile.err;
    const Ended analysis = sh("$T analyze a.tferry --oversubscribe 1.5 --chunk 2MiB");
    ASSERT_EQ(analysis.exit_code(), 0) << analysis.err;
    ASSERT_TRUE(analysis.printed("What moves in every iteration under plan 1")) << analysis.out;
  }

  /// The sample's answer: "answer ok DIGEST".
  static std::string answer(const Ended& ended) {
    const std::size_t at = ended.out.find("answer ok ");
    return at == std::string::npos ? ended.out + ended.err : ended.out.substr(at, 42);
  }

  nlohmann::json device_of(const std::string& file) const {
    return nlohmann::json::parse(contents(root_ / file))["processes"][0]["devices"][0];
  }

  void expect_refused(const std::string& line, const std::string& part) const {
    const Ended ended = sh(line);
    EXPECT_EQ(ended.exit_code(), 125) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told(part)) << line << "\n" << ended.err;
    EXPECT_TRUE(ended.told("what to do: ")) << line << "\n" << ended.err;
    EXPECT_EQ(ended.out, "") << "the job did not start";
  }
};

TEST_F(PlannedRunTest, APolicyGoesByItsNameWhateverServesIt) {
  const std::string job = std::string(kJob) + "4";
  const Ended native = sh(job);
  for (const char* policy : {"lookahead", "lms", "pump"}) {
    const Ended run = sh(std::string("$T run --budget 64MiB --policy ") + policy + " " + job);
    EXPECT_EQ(answer(run), answer(native)) << policy << "\n" << run.err;
  }
  expect_refused("$T run --policy pump --verify " + job, "--verify checks our own copies");
  expect_refused("$T run --policy lookahead --memory managed " + job, "--policy lookahead");
  expect_refused("$T run --policy lookahead --no-live-plan " + job, "--no-live-plan makes none");
}

TEST_F(PlannedRunTest, AJobFollowsItsPlanAndGivesTheSameAnswer) {
  planned();
  const Ended native = sh(std::string(kJob) + "10");
  const Ended run = sh(std::string("$T run --plan a.tferry --json run.json ") + kJob + "10");
  EXPECT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_EQ(answer(run), answer(native));
  EXPECT_TRUE(run.told("plan: a.tferry, plan 1 (lookahead): ")) << run.err;
  EXPECT_TRUE(run.told("(the plan's)")) << run.err;
  EXPECT_TRUE(run.told("plan       followed in ")) << run.err;
  EXPECT_TRUE(run.told("0 late fetches; 0 mapping calls in planned iterations")) << run.err;

  const auto device = device_of("run.json");
  EXPECT_GE(device["plan_iterations_followed"], 5);
  EXPECT_EQ(device["plan_actions_done"], device["plan_actions_due"]);
  EXPECT_GT(device["plan_bytes_out"], 0);
  EXPECT_LE(device["resident_peak"], device["budget"]);
  EXPECT_EQ(device["plan_conflicts"], 0);
}

TEST_F(PlannedRunTest, PredictionAndOutcomeGoIntoASessionOfItsOwn) {
  planned();
  const std::string before = contents(root_ / "a.tferry");
  const Ended run = sh(std::string("$T run --plan a.tferry ") + kJob + "10");
  ASSERT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_EQ(contents(root_ / "a.tferry"), before) << "the plan's session is only read";
  EXPECT_TRUE(run.told("session: tferry-sample-layers.1.tferry")) << run.err;
  const std::string session = "tferry-sample-layers.1.tferry";
  EXPECT_EQ(ask(session, "SELECT name FROM plan"), "\"a.tferry, plan 1 (lookahead)\"");
  EXPECT_EQ(count(session, "plan_action WHERE tensor IS NOT NULL"), count("a.tferry", "plan_action"));
  EXPECT_EQ(ask(session, "SELECT sha256 FROM plan"), ask("a.tferry", "SELECT sha256 FROM plan"));
  EXPECT_EQ(ask(session, "SELECT value FROM meta WHERE key = 'job.end'"), "exit code 0");
  EXPECT_EQ(
      ask(session, "SELECT actions_used = actions_planned AND mappings = 0 AND followed > 0.8 FROM run"),
      "1");
  EXPECT_TRUE(sh("$T report plan " + session).printed("Runs under plans"));
}

TEST_F(PlannedRunTest, SomeIterationsAreWatchedAndTellWhatWasWaitedFor) {
  planned();
  const std::string job = std::string(kJob) + "12";
  const Ended run = sh("$T run --plan a.tferry -o run.tferry " + job);
  ASSERT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_EQ(count("run.tferry", "iteration WHERE regular = 1"), 3);
  EXPECT_EQ(count("run.tferry", "operation"), 3 * count("a.tferry", "operation WHERE iteration_id = 1"));
  EXPECT_EQ(count("run.tferry", "kernel WHERE start_ns IS NULL OR end_ns < start_ns"), 0);
  EXPECT_EQ(count("run.tferry", "swap WHERE memcpy_id IS NULL"), 0);
  EXPECT_GE(count("run.tferry", "swap WHERE kind = 2"),
            3 * count("run.tferry", "plan_action WHERE kind = 2"));
  EXPECT_EQ(count("run.tferry", "plan_action WHERE tensor NOT IN (SELECT name FROM tensor)"), 0)
      << "tensors have the plan's names";
  EXPECT_EQ(count("run.tferry", "loss"), 0);

  // 36 MiB each way on a link so slow that this alone takes far longer than the kernels.
  const Ended slow = sh("SWD_H2D_GBPS=0.2 $T run --plan a.tferry -o slow.tferry " + job);
  ASSERT_EQ(slow.exit_code(), 0) << slow.err;
  EXPECT_EQ(answer(slow), answer(run));
  EXPECT_EQ(ask("slow.tferry", "SELECT wait_ns > 100000000 FROM run"), "1") << slow.err;
  EXPECT_EQ(
      ask("slow.tferry", "SELECT sum(gate.end_ns - gate.start_ns) / 3 = (SELECT wait_ns FROM run) FROM gate"),
      "1");
  // Waits end when a fetch does.
  EXPECT_GT(
      count("slow.tferry",
            "gate WHERE EXISTS (SELECT 1 FROM swap JOIN memcpy ON memcpy.id = memcpy_id WHERE swap.kind "
            "= 2 AND abs(memcpy.end_ns - gate.end_ns) < 100000)"),
      0);
}

TEST_F(PlannedRunTest, WhatWasPredictedIsKeptWhateverBecomesOfTheJob) {
  planned();
  const Ended run = sh("exec $T run --plan a.tferry -o killed.tferry sh -c 'kill -9 $$'");
  EXPECT_EQ(run.signal(), 9) << run.err;
  EXPECT_EQ(ask("killed.tferry", "SELECT count(*) FROM plan"), "1");
  EXPECT_EQ(ask("killed.tferry", "SELECT count(*) FROM run"), "0");
  EXPECT_EQ(ask("killed.tferry", "SELECT value FROM meta WHERE key = 'job.end'"), "signal 9");
  expect_refused("$T run --plan a.tferry -o killed.tferry true", "killed.tferry exists already");
}

TEST_F(PlannedRunTest, APlanForTwoLinksIsFollowedByTwoLinks) {
  planned();
  const Ended analysis = sh("$T analyze a.tferry --oversubscribe 1.5 --chunk 2MiB --route both");
  ASSERT_EQ(analysis.exit_code(), 0) << analysis.err;
  EXPECT_TRUE(analysis.printed("by its own and a neighbour's link, taken to be idle: 108.0 GB/s in"))
      << analysis.out;
  EXPECT_TRUE(analysis.printed("assumed")) << analysis.out;
  EXPECT_TRUE(sh("$T plan show a.tferry").printed("contents go by its own and a neighbour's link: 108.0"));
  EXPECT_TRUE(sh("$T plan show a.tferry:1").printed("contents go by its own link: 55.1 GB/s in"));
  EXPECT_EQ(ask("a.tferry", "SELECT group_concat(route || ' ' || link_known_by) FROM plan"),
            "\"direct assumed,both assumed\"");
  EXPECT_EQ(ask("a.tferry", "SELECT route FROM bound"), "both");

  const std::string job = std::string(kJob) + "10";
  const Ended run = sh("SWD_DEVICES=2 $T run --plan a.tferry -o both.tferry --json run.json " + job);
  ASSERT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_EQ(answer(run), answer(sh(job)));
  EXPECT_TRUE(run.told("for contents that go by its own and a neighbour's link, 108.0 GB/s in and"))
      << run.err;
  EXPECT_TRUE(run.told("route      contents went by its own and a neighbour's link")) << run.err;
  EXPECT_TRUE(run.told("predicted ")) << run.err;
  EXPECT_FALSE(run.told("not compared")) << run.err;
  EXPECT_EQ(device_of("run.json")["route"], "both");
  EXPECT_EQ(device_of("run.json")["plan_route"], "both");
  EXPECT_EQ(ask("both.tferry", "SELECT route FROM run"), "both");
}

TEST_F(PlannedRunTest, WhereContentsGoAnotherWayThanPlannedItIsSaidAndNothingCompared) {
  planned();
  const std::string job = std::string(kJob) + "10";
  const std::string native = answer(sh(job));
  const auto expect_not_compared = [&](const Ended& run, const std::string& session,
                                       const std::string& route) {
    ASSERT_EQ(run.exit_code(), 0) << run.err;
    EXPECT_EQ(answer(run), native);
    EXPECT_TRUE(run.told("plan       followed in ")) << run.err;
    EXPECT_TRUE(run.told("prediction and bound are not compared")) << run.err;
    EXPECT_FALSE(run.told(", predicted ")) << run.err;
    EXPECT_EQ(ask(session, "SELECT route FROM run WHERE predicted_ns IS NULL AND bound_ns IS NULL"), route);
  };
  const Ended both = sh("SWD_DEVICES=2 $T run --plan a.tferry --route both -o both.tferry " + job);
  EXPECT_TRUE(both.told("for a plan of that way: tferry analyze --route both a.tferry")) << both.err;
  expect_not_compared(both, "both.tferry", "both");

  // Planned for two links, and the neighbour is hidden.
  ASSERT_EQ(sh("$T analyze a.tferry --oversubscribe 1.5 --chunk 2MiB --route both").exit_code(), 0);
  const Ended hidden = sh("$T run --plan a.tferry -o hidden.tferry " + job);
  EXPECT_TRUE(hidden.told("copies go by its own link: this process sees one GPU only")) << hidden.err;
  expect_not_compared(hidden, "hidden.tferry", "direct");
  EXPECT_TRUE(
      sh("$T run --plan a.tferry --route direct -o no.tferry " + job).told("--route direct has them go"));
  EXPECT_FALSE(sh("$T run --plan a.tferry:1 --route auto -o same.tferry " + job).told("not compared"));
}

TEST_F(PlannedRunTest, RoutesOfPlansAreChecked) {
  planned();
  expect_refused("$T analyze a.tferry --route both --what-if gpus=2 --oversubscribe 1.5",
                 "--route takes a neighbour to be idle");
  const Ended given =
      sh("$T analyze a.tferry --oversubscribe 1.5 --chunk 2MiB --route both --link "
         "h2d=40GB/s,d2h=40GB/s,duplex=60GB/s");
  EXPECT_TRUE(given.printed("taken to be idle: 40.0 GB/s in, 40.0 GB/s out, assumed"))
      << given.out << given.err;
}

TEST_F(PlannedRunTest, PlansThatCannotBeFollowedAreRefusedBeforeTheJobStarts) {
  planned();
  const std::string run = "$T run --plan a.tferry ";
  expect_refused("$T run --plan none.tferry $S", "none.tferry");
  expect_refused("$T run --plan a.tferry:3 $S", "a.tferry has no plan 3");
  expect_refused(run + "--budget 40MiB $S", "more than the 40.0 MiB (41943040 bytes) given");
  expect_refused(run + "--budget 0:40MiB $S", "more than the 40.0 MiB");
  expect_refused(run + "--chunk 4MiB $S", "is for chunks of 2097152 bytes");
  expect_refused(run + "--policy lms $S", "--plan says what leaves when, and --policy too");
  expect_refused(run + "--memory managed $S", "--memory managed leaves that to the driver");
  expect_refused("$T run -o x.tferry $S", "--output is about runs under a plan");
  expect_refused("$T run --memory managed --verify $S", "--verify checks our own copies");
  expect_refused("$T profile --memory managed $S", "--memory");
}

TEST_F(PlannedRunTest, APlanIsMadeWhileTheJobRuns) {
  const std::string job = "$S --buffers 24 --mib 2 --hidden 2 --iterations ";
  // How long planning takes beside a job is nobody's to say: a job that was over first runs longer. The link
  // is slow, so that a plan is worth it also where kernels take long because the machine has other work.
  for (const std::string iterations : {"60", "600", "2000"}) {
    const Ended run =
        sh("SWD_H2D_GBPS=2 SWD_D2H_GBPS=2 $T run --budget 32MiB --chunk 2MiB --movable 2MiB --json "
           "run.json --force " +
           job + iterations);
    ASSERT_EQ(run.exit_code(), 0) << run.err;
    const auto device = device_of("run.json");
    if (device["plan_iterations_followed"] == 0) continue;
    EXPECT_TRUE(run.told("iterations: ")) << run.err;
    EXPECT_TRUE(run.told("moves, ")) << run.err;
    EXPECT_EQ(answer(run), answer(sh(job + iterations)));
    EXPECT_GT(device["plan_forced_bytes"], 0);
    EXPECT_EQ(device["plan_mappings"], 0);
    EXPECT_GE(device["plan_predicted_ns"], device["plan_bound_ns"]);
    EXPECT_GT(device["plan_bound_ns"], 0) << "the runtime took the operations' times";
    return;
  }
  FAIL() << "no plan was followed in 2000 iterations";
}

TEST_F(PlannedRunTest, NoPlanIsMadeWhereNoneIsWanted) {
  const std::string job = "$S --buffers 24 --mib 2 --iterations 60";
  for (const std::string option : {"--no-live-plan", "--policy lms-early", "--budget unlimited"}) {
    const Ended run =
        sh("$T run --json run.json --force " + option +
           (option.ends_with("unlimited") ? " " : " --budget 32MiB ") + "--chunk 2MiB --movable 2MiB " + job);
    EXPECT_EQ(run.exit_code(), 0) << run.err;
    EXPECT_EQ(device_of("run.json")["plan_state"], 0) << option;
    EXPECT_FALSE(run.told("TFERRY_RECORD")) << option;
  }
}

TEST_F(PlannedRunTest, RanksOnALinkFollowPlansOfTheirOwn) {
  planned();
  expect_refused("$T run --plan a.tferry --coordinate interleave $S",
                 "a.tferry has no plans for several ranks");
  expect_refused("$T analyze a.tferry --ranks-share 2", "--ranks-share is about plans");
  expect_refused("$T analyze a.tferry --oversubscribe 1.5 --ranks-share 1", "1 is no number of ranks");
  const Ended analysis = sh("$T analyze a.tferry --oversubscribe 1.5 --chunk 2MiB --ranks-share 2");
  ASSERT_EQ(analysis.exit_code(), 0) << analysis.err;
  EXPECT_TRUE(analysis.printed("Plans for 2 ranks on a link that move different tensors")) << analysis.out;
  EXPECT_EQ(ask("a.tferry", "SELECT name FROM plan ORDER BY id DESC LIMIT 1"), "rank 0 of 2");
  EXPECT_EQ(ask("a.tferry", "SELECT count(DISTINCT sha256) FROM plan WHERE name LIKE 'rank%'"), "2");

  const Ended native = sh(std::string(kJob) + "10");
  for (const char* rank : {"0", "1"}) {
    const Ended run =
        sh(std::string("RANK=") + rank + " LOCAL_RANK=" + rank +
           " $T run --plan a.tferry --coordinate interleave --force --json run.json " + kJob + "10");
    EXPECT_EQ(run.exit_code(), 0) << run.err;
    EXPECT_EQ(answer(run), answer(native));
    EXPECT_TRUE(run.told("ranks: ranks of a host move different tensors")) << run.err;
    EXPECT_GE(device_of("run.json")["plan_iterations_followed"], 5);
    EXPECT_EQ(device_of("run.json")["plan_mappings"], 0);
  }
}

TEST_F(PlannedRunTest, TurnsOfRanksAreKeptWithTheOutcome) {
  planned();
  const std::string job = std::string(kJob) + "30";
  const Ended run =
      sh("$T run --plan a.tferry --coordinate orchestrate -o turns.tferry sh -c 'LOCAL_RANK=1 " + job +
         " & LOCAL_RANK=0 " + job + "; wait'");
  EXPECT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_TRUE(run.told("turns      2 GPUs took turns on the link")) << run.err;
  EXPECT_EQ(ask("turns.tferry",
                "SELECT count(*) FROM slot_use WHERE gpus_on_link = 2 AND asked = granted AND asked + "
                "ahead > 0 AND used > 0"),
            "2");
  EXPECT_EQ(count("turns.tferry", "run JOIN plan ON plan.id = plan_id AND plan.process_id = run.process_id"),
            2);
  EXPECT_EQ(count("turns.tferry", "iteration"), 6) << "three of each rank";
  EXPECT_EQ(ask("turns.tferry", "SELECT group_concat(rank) FROM (SELECT rank FROM slot_use ORDER BY rank)"),
            "\"0,1\"");
  EXPECT_EQ(ask("turns.tferry", "SELECT count(*) - (SELECT sum(asked + ahead) FROM slot_use) FROM slot"), "0")
      << "each turn stands in the session";
  EXPECT_EQ(ask("turns.tferry",
                "SELECT count(*) FROM slot WHERE link <> 1 OR bytes <= 0 OR asked_ns < 0 OR granted_ns < "
                "asked_ns OR "
                "ended_ns < granted_ns"),
            "0");
  EXPECT_LT(5, std::stoi(ask("turns.tferry", "SELECT max(iteration) FROM slot")));
  EXPECT_TRUE(sh("$T report contention turns.tferry").printed("Who waited for whom on shared links"));
}

TEST_F(PlannedRunTest, APlanForAnotherProgramIsNoticedAndLeft) {
  planned();
  const std::string other = "$S --buffers 18 --mib 4 --iterations 8";
  const Ended run = sh("$T run --plan a.tferry " + other);
  EXPECT_EQ(run.exit_code(), 0) << run.err;
  EXPECT_EQ(answer(run), answer(sh(other)));
  EXPECT_TRUE(run.told("plan       not followed: ")) << run.err;
}

}  // namespace
}  // namespace tferry::cli
