// tferry profile where something goes wrong: disks that fill, jobs that are killed, a CUPTI that is taken.
// The job runs, nothing that was recorded is lost, and what is missing is said.
#include "cli/testing/profile_fixture.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace tferry::cli {
namespace {

using testing_support::Ended;
namespace fs = std::filesystem;

class ProfileTroubleTest : public testing_support::ProfileFixture {
 protected:
  /// The one recording that was kept in places().
  fs::path kept() const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(places_)) {
      EXPECT_TRUE(found.empty()) << "two recordings were kept";
      found = entry.path();
    }
    return found;
  }
};

constexpr const char* kFullDisk = "LD_PRELOAD=" TFERRY_FULL_DISK " ";

TEST_F(ProfileTroubleTest, ADiskThatFillsWhileRecordingEndsTheRecordingOnly) {
  const Ended ended = sh(std::string(kFullDisk) +
                         "FULL_DISK_NAME=/spool. FULL_DISK_BYTES=400000 "
                         "$T profile --counters off -o a.tferry $S --buffers 12 --mib 4 --iterations 120");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.printed("answer ok ")) << ended.out;
  EXPECT_TRUE(ended.told("the disk was full")) << ended.err;
  EXPECT_GT(count("a.tferry", "kernel"), 20);
  EXPECT_GT(count("a.tferry", "loss WHERE reason = 'disk_full' AND what = 'kernel_launch' AND count > 0"), 0);
  EXPECT_TRUE(sh("$T report quality a.tferry").printed("disk_full"));
  EXPECT_TRUE(fs::is_empty(places_));
}

TEST_F(ProfileTroubleTest, ASpoolLimitEndsTheRecordingAndSaysSo) {
  const Ended ended = sh(
      "$T profile --counters off --spool-limit 400000 -o a.tferry $S --buffers 12 --mib 4 --iterations 120");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_TRUE(ended.told("its size limit was reached")) << ended.err;
  EXPECT_GT(count("a.tferry", "loss WHERE reason = 'size_limit' AND what = 'kernel_launch' AND count > 0"),
            0);
}

TEST_F(ProfileTroubleTest, ADiskThatIsFullBeforeTheSessionIsWrittenCostsNothing) {
  const Ended ended = sh(std::string(kFullDisk) +
                         "FULL_DISK_NAME=.building. FULL_DISK_BYTES=100000 "
                         "$T profile --counters off -o a.tferry $S --buffers 8 --mib 1 --iterations 4");
  EXPECT_EQ(ended.exit_code(), 125) << ended.err;
  EXPECT_TRUE(ended.printed("answer ok ")) << ended.out;
  EXPECT_TRUE(ended.told("no space left while writing session a.tferry")) << ended.err;
  EXPECT_FALSE(fs::exists(root_ / "a.tferry"));
  EXPECT_TRUE(ended.told("the recording is whole in " + kept().string())) << ended.err;

  EXPECT_EQ(sh("$T merge -q " + kept().string() + " -o a.tferry").exit_code(), 0);
  EXPECT_EQ(sh("$T profile -q --counters off -o b.tferry $S --buffers 8 --mib 1 --iterations 4").exit_code(),
            0);
  EXPECT_EQ(sh("$T compare --structure a.tferry b.tferry").exit_code(), 0);
}

TEST_F(ProfileTroubleTest, AJobKilledInTheMiddleLeavesWhatWasRecordedUntilThen) {
  // Killed once its spool holds something; the shell repeats the signal as the job's.
  const Ended ended =
      sh("exec $T profile --counters off -o a.tferry sh -c '$S --buffers 8 --mib 1 --iterations 1000000 "
         "> output & until [ \"$(cat $TFERRY_RUN_DIR/spool.*.runtime.0 | wc -c)\" -gt 50000 ]; do :; done; "
         "kill -9 $!; wait $!; kill -9 $$' 2> /dev/null");
  EXPECT_EQ(ended.signal(), SIGKILL);
  EXPECT_GT(count("a.tferry", "kernel"), 20);
  EXPECT_GT(count("a.tferry", "allocation"), 8);
  EXPECT_TRUE(sh("$T report quality a.tferry").printed("ended without closing it"));
  EXPECT_EQ(sh("$T analyze a.tferry --oversubscribe 1.5").exit_code(), 0);
}

TEST_F(ProfileTroubleTest, ALauncherThatIsKilledLeavesSpoolsForMerge) {
  // The job kills its launcher, and goes on.
  const Ended ended = sh(
      "$T profile --counters off -o a.tferry sh -c 'kill -9 $PPID; $S --buffers 8 --mib 1 --iterations 4'; "
      "until grep -q 'answer ok' out; do :; done");
  EXPECT_FALSE(fs::exists(root_ / "a.tferry"));
  ASSERT_FALSE(kept().empty()) << ended.err;
  const Ended merged = sh("$T merge " + kept().string() + " -o a.tferry");
  EXPECT_EQ(merged.exit_code(), 0) << merged.err;
  EXPECT_GT(count("a.tferry", "kernel"), 20);
}

// pytorch#117935, rapidsmpf#500, habitat#5: CUPTI taken by another tool, by compute-sanitizer, or forbidden.
class CuptiRefusalTest : public ProfileTroubleTest, public testing::WithParamInterface<const char*> {};

TEST_P(CuptiRefusalTest, TheJobRunsAndTheSessionNamesTheCode) {
  const Ended ended = sh(
      std::string("export LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR " FAKE_CUPTI_SUBSCRIBE=") + GetParam() +
      "; $T profile --counters off -o a.tferry " TFERRY_INJECTED_JOB " " TFERRY_COLLECTOR " launch 10 exit");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "kernel"), 0);
  EXPECT_GT(count("a.tferry", "loss WHERE what = 'kernel' AND detail IS NOT NULL"), 0);
  EXPECT_TRUE(ended.told("CUPTI_ERROR_")) << ended.err;
  EXPECT_TRUE(sh("$T report quality a.tferry").printed("CUPTI_ERROR_"));
}

INSTANTIATE_TEST_SUITE_P(Codes, CuptiRefusalTest, testing::Values("39", "15", "35", "999"));

TEST_F(ProfileTroubleTest, WithCuptiAloneKernelsAreThere) {
  const Ended ended = sh("export LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR
                         "; $T profile --no-preload --counters off -o a.tferry " TFERRY_INJECTED_JOB
                         " " TFERRY_COLLECTOR " launch 10 exit");
  EXPECT_EQ(ended.exit_code(), 0) << ended.err;
  EXPECT_EQ(count("a.tferry", "kernel WHERE end_ns > start_ns"), 10);
  EXPECT_EQ(count("a.tferry", "loss WHERE what = 'kernel'"), 0);
}

// The kernel raises SIGXFSZ at a writer beyond `ulimit -f`. (The software driver's memory is files, so its
// jobs cannot run there.)
TEST_F(ProfileTroubleTest, AFileSizeLimitOfTheUserKillsNeitherJobNorLauncher) {
  const Ended ended = sh("ulimit -f 1200; export LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR
                         "; $T profile --no-preload --counters off -o a.tferry " TFERRY_INJECTED_JOB
                         " " TFERRY_COLLECTOR " launch 20000 exit");
  EXPECT_EQ(ended.exit_code(), 125) << ended.err;
  EXPECT_TRUE(ended.told("the recording is whole in " + kept().string())) << ended.err;
  ASSERT_EQ(sh("$T merge " + kept().string() + " -o a.tferry").exit_code(), 0);
  EXPECT_GT(count("a.tferry", "kernel"), 100);
  EXPECT_GT(count("a.tferry", "loss WHERE reason = 'size_limit' AND what = 'kernel' AND count > 0"), 0);
}

}  // namespace
}  // namespace tferry::cli
