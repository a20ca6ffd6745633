#include "cli/job/shared_recording.hpp"

#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

/// Launchers as processes of their own, because locks belong to processes.
class SharedRecordingTest : public testing::Test {
 protected:
  SharedRecordingTest() { fs::create_directory(place_); }

  pid_t launcher(const std::string& key, const std::function<int(SharedRecording&)>& life) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    int code = 99;
    {
      SharedRecording recording({place_}, key, folder_.path());
      code = life(recording);
    }
    ::_exit(code);
  }
  void mark(const std::string& name) { std::ofstream(folder_.path() / name) << "x"; }
  bool marked(const std::string& name) const { return fs::exists(folder_.path() / name); }
  void wait_for(const std::string& name) const {
    for (int i = 0; i < 1000 && !marked(name); ++i) ::usleep(10'000);
    ASSERT_TRUE(marked(name)) << name;
  }
  static int end_of(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::size_t directories() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(place_)) count += entry.is_directory() ? 1 : 0;
    return count;
  }

  testing_support::TemporaryDirectory folder_;
  fs::path place_ = folder_.path() / "place";
};

// rocprofiler-compute#7, #759: a second instance on the host crashed. Here it joins the first.
TEST_F(SharedRecordingTest, RocprofilerCompute759TheSecondLauncherOfAJobJoinsTheFirst) {
  const pid_t owner = launcher("job 1", [this](SharedRecording& recording) {
    std::ofstream(folder_.path() / "path") << recording.path().string();
    mark("owner");
    wait_for("joined");
    if (!recording.owner() || !recording.finish()) return 1;
    return marked("member ended") ? 0 : 2;  // it waited for the other
  });
  wait_for("owner");
  const pid_t member = launcher("job 1", [this](SharedRecording& recording) {
    std::string path;
    std::ifstream(folder_.path() / "path") >> path;
    mark("joined");
    ::usleep(100'000);
    mark("member ended");
    return !recording.owner() && recording.path() == path && !recording.finish() ? 0 : 1;
  });
  EXPECT_EQ(end_of(member), 0);
  EXPECT_EQ(end_of(owner), 0);
  EXPECT_EQ(directories(), 0u);
}

TEST_F(SharedRecordingTest, LaunchersOfOtherJobsHaveDirectoriesOfTheirOwn) {
  const pid_t first = launcher("job 1", [this](SharedRecording&) {
    mark("first");
    wait_for("second");
    return 0;
  });
  wait_for("first");
  const pid_t second = launcher("job 2", [this](SharedRecording& recording) {
    mark("second");
    return recording.owner() ? 0 : 1;
  });
  EXPECT_EQ(end_of(second), 0);
  EXPECT_EQ(end_of(first), 0);
}

TEST_F(SharedRecordingTest, WhenTheOwnerIsKilledTheLastMemberMakesTheSession) {
  const pid_t owner = launcher("job 1", [this](SharedRecording&) {
    mark("owner");
    for (;;) ::pause();
    return 0;
  });
  wait_for("owner");
  const pid_t member = launcher("job 1", [this](SharedRecording& recording) {
    mark("joined");
    wait_for("killed");
    std::ofstream(recording.path() / "spool.1.runtime.0") << "x";
    return !recording.owner() && recording.finish() && fs::exists(recording.path()) ? 0 : 1;
  });
  wait_for("joined");
  ::kill(owner, SIGKILL);
  EXPECT_EQ(end_of(owner), -SIGKILL);
  mark("killed");
  EXPECT_EQ(end_of(member), 0);
}

TEST_F(SharedRecordingTest, AfterTheSessionALauncherOfTheSameJobBeginsAnew) {
  for (int i = 0; i < 2; ++i) {
    const pid_t launcher_pid = launcher(
        "job 1", [](SharedRecording& recording) { return recording.owner() && recording.finish() ? 0 : 1; });
    EXPECT_EQ(end_of(launcher_pid), 0);
  }
}

TEST_F(SharedRecordingTest, FiftyLaunchersHaveOneOwner) {
  std::vector<pid_t> launchers;
  for (int i = 0; i < 50; ++i) {
    launchers.push_back(launcher("job 1", [this](SharedRecording& recording) {
      wait_for("all began");
      return recording.finish() ? 1 : 0;
    }));
  }
  ::usleep(500'000);
  mark("all began");
  int sessions = 0;
  for (const pid_t pid : launchers) {
    const int code = end_of(pid);
    ASSERT_GE(code, 0);
    sessions += code;
  }
  EXPECT_EQ(sessions, 1);
  EXPECT_EQ(directories(), 0u);
}

TEST_F(SharedRecordingTest, WhereLaunchersCannotMeetEachRecordsForItself) {
  SharedRecording first({place_}, "job 1", folder_.path() / "absent");
  SharedRecording second({place_}, "job 1", folder_.path() / "absent");
  EXPECT_TRUE(first.owner() && second.owner());
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(first.finish() && second.finish());
}

class JobKeyTest : public testing::Test {
 protected:
  JobKeyTest() { clear(); }
  ~JobKeyTest() override { clear(); }
  static void clear() {
    for (const char* name :
         {"RANK", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "PMIX_NAMESPACE", "PMI_RANK", "PMI_JOBID",
          "OMPI_COMM_WORLD_RANK", "OMPI_MCA_ess_base_jobid", "TORCHELASTIC_RUN_ID", "MASTER_PORT"}) {
      ::unsetenv(name);
    }
  }
  static std::string key() { return SharedRecording::job_key(Environment(environ)); }
};

TEST_F(JobKeyTest, IsTheStepOfSlurmAndTheNamespaceOfMpi) {
  ::setenv("SLURM_JOB_ID", "71", 1);
  ::setenv("SLURM_STEP_ID", "0", 1);
  EXPECT_EQ(key(), "");  // within a batch script, which is no rank
  ::setenv("SLURM_PROCID", "3", 1);
  EXPECT_EQ(key(), "slurm 71.0");
  clear();
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("PMIX_NAMESPACE", "4711", 1);
  EXPECT_EQ(key(), "PMIX_NAMESPACE 4711 ");
}

TEST_F(JobKeyTest, IsEmptyForAProcessOfItsOwn) { EXPECT_EQ(key(), ""); }

}  // namespace
}  // namespace tferry::cli
