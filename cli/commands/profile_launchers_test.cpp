// tferry profile and process trees: around a launcher, inside of one, ranks, children of every kind. No GPU:
// jobs load the collector as the driver would, over a CUPTI of the tests.
#include "cli/testing/profile_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tferry::cli {
namespace {

using testing_support::Ended;
namespace fs = std::filesystem;

class ProfileLaunchersTest : public testing_support::ProfileFixture {
 protected:
  /// $J runs a job that launches 10 kernels unless told otherwise; $P profiles without hooks and counters.
  Ended sh(const std::string& line) const {
    return ProfileFixture::sh(
        "unset RANK LOCAL_RANK WORLD_SIZE SLURM_JOB_ID SLURM_PROCID PMIX_NAMESPACE OMPI_COMM_WORLD_RANK "
        "PMI_RANK; "
        "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 "
        "OMPI_MCA_btl=self,vader; "
        "export LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR ":$LD_LIBRARY_PATH J='" TFERRY_INJECTED_JOB
        " " TFERRY_COLLECTOR
        "'; "
        "P=\"$T profile --no-preload --counters off\"; " +
        line);
  }
  static bool have(const char* program) {
    return std::system(("command -v " + std::string(program) + " > /dev/null").c_str()) == 0;
  }
  std::string ranks(const std::string& session) const {
    const std::string quoted =
        ask(session, "SELECT group_concat(rank) FROM (SELECT DISTINCT rank FROM process ORDER BY rank)");
    return quoted.size() < 2 ? quoted : quoted.substr(1, quoted.size() - 2);
  }
};

TEST_F(ProfileLaunchersTest, EveryProcessOfATreeIsInOneSession) {
  // What ends by _exit keeps what was flushed: every 200 ms.
  const Ended ended = sh(
      "$P -o a.tferry sh -c '$J launch 10 exit; sleep 1 | $J launch 20 wait quick & wait; $J launch 5 fork "
      "exit'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "process"), 3);
  EXPECT_EQ(count("a.tferry", "kernel"), 35);
}

TEST_F(ProfileLaunchersTest, ProcessesThatNeverTouchCudaLeaveNoTrace) {
  const Ended ended = sh("$P -o a.tferry sh -c 'ls > /dev/null; true; env > /dev/null; $J launch 10 exit'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "process"), 1);
}

TEST_F(ProfileLaunchersTest, FiftyChildrenAreAllThere) {
  const Ended ended =
      sh("$P -o a.tferry sh -c 'for i in $(seq 50); do RANK=$i $J launch 3 exit & done; wait'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "process"), 50);
  EXPECT_EQ(count("a.tferry", "kernel"), 150);
  EXPECT_EQ(ask("a.tferry", "SELECT count(DISTINCT rank) FROM process"), "50");
}

// NeMo-RL#4090: workers killed at teardown, no trace. HPCToolkit#195, #326: fork and exec.
TEST_F(ProfileLaunchersTest, NemoRl4090HpcToolkit195KilledForkedAndReplacedProcessesKeepTheirRecords) {
  const Ended ended =
      sh("$P -o a.tferry sh -c '$J launch 10 exit; sleep 2 | $J launch 10 wait & sleep 1; kill -9 $!; "
         "sleep 1 | $J launch 10 wait exec /bin/true'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "process"), 3);
  EXPECT_EQ(count("a.tferry", "kernel"), 30);
}

// TensorRT-LLM#9073: a second CUPTI client in the process. The job runs, and the session says who to end.
TEST_F(ProfileLaunchersTest, TensorRtLlm9073AJobWithAnotherCuptiClientRunsAndTheSessionSaysSo) {
  const Ended ended =
      sh("export FAKE_CUPTI_SUBSCRIBE=39; $P -o a.tferry sh -c '$J launch 10 exit; echo it ran'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("it ran"));
  EXPECT_TRUE(ended.told("Another profiler has CUPTI in this process")) << ended.err;
  EXPECT_EQ(count("a.tferry", "kernel"), 0);
  EXPECT_EQ(count("a.tferry",
                  "loss WHERE what = 'kernel' AND reason = 'not_permitted' AND detail LIKE "
                  "'%CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED%end it to record with Tensorferry%'"),
            1);
}

// A loader of data: workers that are forked and never touch the GPU.
TEST_F(ProfileLaunchersTest, APoolOfForkedWorkersLeavesTheParentsRecordingAlone) {
  const Ended ended = sh("$P -o a.tferry $J launch 10 workers 12 launch 10 workers 5 exit");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "process"), 1);
  EXPECT_EQ(count("a.tferry", "kernel"), 10 + 12 + 10 + 5);
  EXPECT_EQ(
      count("a.tferry", "loss WHERE reason IN ('unknown', 'cupti', 'damaged', 'malformed', 'no_partner')"), 0)
      << ask("a.tferry", "SELECT group_concat(what || ': ' || detail) FROM loss");
}

// A daemon, forked twice into a session of its own, outlives the launcher: the launcher does not wait for it,
// what it did before is there, and it ends as it would have without us.
TEST_F(ProfileLaunchersTest, ADaemonThatOutlivesTheLauncherIsThereAsFarAsItCame) {
  const Ended ended =
      sh("mkfifo more; echo '$J launch 7 wait launch 5 exit <> more; echo $? > code; mv code ended' > "
         "daemon.sh; "
         "$P -o a.tferry sh -c '(setsid sh daemon.sh > /dev/null 2>&1 &); $J launch 10 exit; sleep 1'; "
         "ls ended 2> /dev/null");
  EXPECT_EQ(ended.exit_code(), 2) << ended.err;  // it has not ended yet
  EXPECT_EQ(count("a.tferry", "process"), 2) << ended.err;
  EXPECT_EQ(count("a.tferry", "kernel"), 17);
  const Ended daemon = sh("echo > more; while [ ! -e ended ]; do sleep 0.01; done; cat ended");
  EXPECT_EQ(daemon.out, "0\n");
}

// torchtitan#1035: wants to record some ranks only.
TEST_F(ProfileLaunchersTest, Torchtitan1035OnlyTheRanksThatWereAskedForAreRecorded) {
  const Ended ended =
      sh("$P --ranks 0,3 -o a.tferry sh -c 'for r in 0 1 2 3; do RANK=$r $J launch 10 exit & done; wait'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(ranks("a.tferry"), "0,3");
  EXPECT_EQ(count("a.tferry", "kernel"), 20);
  const Ended unwanted = sh("RANK=1 $P --ranks 0,3 -o b.tferry $J launch 10 exit");
  EXPECT_EQ(unwanted.exit_code(), 0) << unwanted.err;
  EXPECT_FALSE(fs::exists(root_ / "b.tferry"));
  EXPECT_EQ(sh("$P --ranks zero -o c.tferry true").exit_code(), 125);
}

// rocprofiler-compute#7, #759: profiler inside or outside the launcher? Both ways work.
TEST_F(ProfileLaunchersTest, RocprofilerCompute7InsideALauncherOneSessionHasAllRanks) {
  const Ended ended =
      sh("export SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_NTASKS=3; for r in 0 1 2; do SLURM_PROCID=$r "
         "SLURM_LOCALID=$r $P -o "
         "r_%q{SLURM_PROCID}.tferry sh -c '$J launch 10 exit; sleep 1' & done; wait");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  std::vector<std::string> sessions;
  for (const auto& entry : fs::directory_iterator(root_)) {
    if (entry.path().extension() == ".tferry") sessions.push_back(entry.path().filename());
  }
  ASSERT_EQ(sessions.size(), 1u) << ended.err;
  EXPECT_EQ(ranks(sessions[0]), "0,1,2");
  EXPECT_EQ(count(sessions[0], "kernel"), 30);
  EXPECT_TRUE(ended.told("recorded into the session of this job's first launcher")) << ended.err;
  EXPECT_TRUE(fs::is_empty(places_));
}

TEST_F(ProfileLaunchersTest, WithinMpirunOneSessionHasAllRanks) {
  if (!have("mpirun")) GTEST_SKIP() << "no mpirun here (apt-get install openmpi-bin)";
  const Ended ended =
      sh("mpirun -np 2 $P -o r_%q{OMPI_COMM_WORLD_RANK}.tferry sh -c '$J launch 10 exit; sleep 1'");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  const std::string session = fs::exists(root_ / "r_0.tferry") ? "r_0.tferry" : "r_1.tferry";
  EXPECT_NE(fs::exists(root_ / "r_0.tferry"), fs::exists(root_ / "r_1.tferry"));
  EXPECT_EQ(ranks(session), "0,1");
  EXPECT_EQ(count(session, "kernel"), 20);
}

TEST_F(ProfileLaunchersTest, AroundMpirunRanksAreRecognised) {
  if (!have("mpirun")) GTEST_SKIP() << "no mpirun here (apt-get install openmpi-bin)";
  const Ended ended = sh("$P -o a.tferry mpirun -np 2 $J launch 10 exit");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(ranks("a.tferry"), "0,1");
  EXPECT_EQ(ask("a.tferry", "SELECT max(world_size) FROM process"), "2");
}

// nanoGPT#642: "report written", no file. The line comes after the file, with its size.
TEST_F(ProfileLaunchersTest, NanoGpt642TheSessionIsThereWhenItsLineSaysSo) {
  const Ended ended = sh("$P -o a.tferry $J launch 10 exit");
  ASSERT_TRUE(fs::exists(root_ / "a.tferry"));
  EXPECT_TRUE(ended.told("session: a.tferry (")) << ended.err;
  const Ended failed = sh("mkdir -p closed; $P -o closed/a.tferry sh -c '$J launch 10 exit; rmdir closed'");
  EXPECT_EQ(failed.exit_code(), 125) << failed.err;
  EXPECT_FALSE(failed.told("session: closed/a.tferry (")) << failed.err;
}

TEST_F(ProfileLaunchersTest, WhatCannotBeUnderstoodIsRefusedBeforeTheJobRuns) {
  for (const char* options : {"--range sometimes", "--range time:5", "--then later", "--max-size none",
                              "--calibration absent.json"}) {
    const Ended ended = sh("$P " + std::string(options) + " -o a.tferry sh -c 'echo it ran'");
    EXPECT_NE(ended.exit_code(), 0) << options;
    EXPECT_FALSE(ended.printed("it ran")) << options;
  }
}

TEST_F(ProfileLaunchersTest, OutsideItsRangeNothingIsRecorded) {
  const Ended ended = sh("$P --range cuda-profiler-api -o a.tferry $J launch 10 exit");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "kernel"), 0);
}

}  // namespace
}  // namespace tferry::cli
