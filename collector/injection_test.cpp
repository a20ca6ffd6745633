// The injected library as a whole, in real processes, over a CUPTI of the tests.
#include "collector/testing/spool_text.hpp"
#include "trace/spool_writer.hpp"
#include "trace/test_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tferry::collector {
namespace {

namespace fs = std::filesystem;

/// A job that runs: its standard input is ours.
class Job {
 public:
  Job(const std::vector<std::string>& commands, const std::vector<std::string>& environment) {
    int input[2];
    if (pipe(input) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(input[0], STDIN_FILENO);
      close(input[0]);
      close(input[1]);
      std::vector<std::string> words = {TFERRY_INJECTED_JOB, TFERRY_COLLECTOR};
      words.insert(words.end(), commands.begin(), commands.end());
      std::vector<char*> arguments, variables;
      for (std::string& word : words) arguments.push_back(word.data());
      std::vector<std::string> all = environment;
      for (std::string& variable : all) variables.push_back(variable.data());
      arguments.push_back(nullptr);
      variables.push_back(nullptr);
      execve(arguments[0], arguments.data(), variables.data());
      _exit(127);
    }
    close(input[0]);
    input_ = input[1];
  }
  ~Job() { close_input(); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  pid_t pid() const { return pid_; }
  void close_input() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }
  void kill_it() const { kill(pid_, SIGKILL); }
  /// The wait status.
  int end() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
};

class InjectionTest : public ::testing::Test {
 protected:
  Job job(const std::vector<std::string>& commands, const std::vector<std::string>& more = {}) {
    std::vector<std::string> environment = {"LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR,
                                            "TFERRY_RUN_DIR=" + directory_.path()};
    environment.insert(environment.end(), more.begin(), more.end());
    return Job(commands, environment);
  }
  std::vector<std::string> spools() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(directory_.path())) paths.push_back(entry.path());
    std::erase_if(paths, [](const std::string& path) { return path.find(".new.") != std::string::npos; });
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  std::size_t kernels(const std::string& path, const std::string& name = "") const {
    return spool_text(path, "kernel " + name).size();
  }
  /// Until the spool of the job that runs has that many kernels.
  void await_kernels(std::size_t count) const {
    while (spools().empty() || kernels(spools()[0]) < count) std::this_thread::yield();
  }

  trace::TestDirectory directory_;
};

TEST_F(InjectionTest, AJobThatEndsWellLeavesAllItsKernelsAndAClosedSpool) {
  EXPECT_EQ(job({"launch", "5000", "exit"}).end(), 0);
  ASSERT_EQ(spools().size(), 1u);
  EXPECT_EQ(kernels(spools()[0]), 5000u);
  EXPECT_TRUE(spool_text(spools()[0], "loss").empty());
  trace::SpoolReader reader(spools()[0]);
  EXPECT_EQ(reader.header().source, trace::SpoolSource::kCollector);
  EXPECT_EQ(reader.status()->state, trace::SpoolState::kClosed);
  const auto first = reader.next();
  ASSERT_TRUE(first);
}

TEST_F(InjectionTest, TheProcessSaysWhoItIs) {
  Job run = job({"launch", "1", "exit"}, {"RANK=3", "WORLD_SIZE=8"});
  EXPECT_EQ(run.end(), 0);
  trace::SpoolReader reader(spools()[0]);
  int processes = 0;
  while (const auto record = reader.next()) {
    const auto process = record->as<trace::ProcessRecord>();
    if (!process) continue;
    ++processes;
    EXPECT_EQ(process->pid, run.pid());
    EXPECT_EQ(process->parent_pid, getpid());
    EXPECT_EQ(process->rank, 3);
    EXPECT_EQ(process->world_size, 8);
  }
  EXPECT_EQ(processes, 1);
}

TEST_F(InjectionTest, TimesAreTheHostsMonotonicClock) {
  const std::int64_t before = trace::SpoolWriter::now_ns();
  EXPECT_EQ(job({"launch", "1", "exit"}).end(), 0);
  const std::int64_t after = trace::SpoolWriter::now_ns();
  trace::SpoolReader reader(spools()[0]);
  while (const auto record = reader.next()) {
    if (const auto kernel = record->as<trace::KernelActivityRecord>()) {
      EXPECT_GT(kernel->time_ns, before);
      EXPECT_LT(kernel->time_ns, after);
    }
  }
}

TEST_F(InjectionTest, WithoutARunDirectoryNothingIsRecorded) {
  const Job run({"launch", "10", "exit"}, {"LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR});
  EXPECT_EQ(run.end(), 0);
  EXPECT_TRUE(spools().empty());
}

TEST_F(InjectionTest, AJobWhoseRunDirectoryIsGoneRunsAllTheSame) {
  const Job run({"launch", "10", "exit"},
                {"LD_LIBRARY_PATH=" TFERRY_FAKE_CUPTI_DIR, "TFERRY_RUN_DIR=" + (directory_ / "gone")});
  EXPECT_EQ(run.end(), 0);
}

// kineto#95: a kernel that still runs at the end is there, without an end.
TEST_F(InjectionTest, Kineto95AKernelThatStillRunsAtExitIsThereWithoutAnEnd) {
  EXPECT_EQ(job({"launch", "3", "endless", "exit"}).end(), 0);
  EXPECT_EQ(kernels(spools()[0], "finished"), 3u);
  EXPECT_EQ(kernels(spools()[0], "running"), 1u);
}

// kineto#95, NeMo-RL#4090: what is older than the last flush survives SIGKILL.
TEST_F(InjectionTest, NemoRl4090AJobThatIsKilledLeavesAReadableSpool) {
  const Job run = job({"launch", "2500", "wait"});
  await_kernels(2500);
  run.kill_it();
  EXPECT_EQ(WTERMSIG(run.end()), SIGKILL);
  EXPECT_EQ(kernels(spools()[0]), 2500u);
  EXPECT_EQ(trace::SpoolReader(spools()[0]).status()->state, trace::SpoolState::kRunning);
}

TEST_F(InjectionTest, AJobThatAbortsKeepsWhatWasFlushed) {
  Job run = job({"launch", "700", "wait", "abort"});
  await_kernels(700);
  run.close_input();
  EXPECT_EQ(WTERMSIG(run.end()), SIGABRT);
  EXPECT_EQ(kernels(spools()[0]), 700u);
}

TEST_F(InjectionTest, AJobThatEndsByQuickExitKeepsWhatWasFlushed) {
  Job run = job({"launch", "700", "wait", "launch", "1", "quick"});
  await_kernels(700);
  run.close_input();
  EXPECT_EQ(run.end(), 0);
  EXPECT_GE(kernels(spools()[0]), 700u);
}

// HPCToolkit#195, #326: a forked child that ends through exit() neither hangs nor writes into its parent's
// spool.
TEST_F(InjectionTest, HpcToolkit326AForkedChildThatExitsLeavesTheSpoolAlone) {
  EXPECT_EQ(job({"launch", "10", "fork", "launch", "5", "exit"}).end(), 0);
  ASSERT_EQ(spools().size(), 1u);
  EXPECT_EQ(kernels(spools()[0]), 15u);
}

TEST_F(InjectionTest, AProgramThatReplacesItselfGetsASpoolOfItsOwn) {
  Job run =
      job({"launch", "4", "wait", "exec", TFERRY_INJECTED_JOB, TFERRY_COLLECTOR, "launch", "6", "exit"});
  await_kernels(4);
  run.close_input();
  EXPECT_EQ(run.end(), 0);
  ASSERT_EQ(spools().size(), 2u);
  EXPECT_EQ(kernels(spools()[0]), 4u);
  EXPECT_EQ(kernels(spools()[1]), 6u);
}

// kineto#686, papi#594: never finalized (the fake would abort), never unloaded.
TEST_F(InjectionTest, Kineto686Papi594TheLibraryStaysAndCuptiIsNeverFinalized) {
  EXPECT_EQ(job({"launch", "10", "unload", "launch", "10", "exit"}).end(), 0);
  EXPECT_EQ(kernels(spools()[0]), 20u);
}

// pytorch#117935: the job goes on, the spool says so.
TEST_F(InjectionTest, Pytorch117935ASecondCuptiClientCostsTheRecordingOnly) {
  EXPECT_EQ(job({"launch", "10", "exit"}, {"FAKE_CUPTI_SUBSCRIBE=39"}).end(), 0);
  ASSERT_EQ(spools().size(), 1u);
  EXPECT_EQ(kernels(spools()[0]), 0u);
  ASSERT_EQ(spool_text(spools()[0], "loss kernel").size(), 1u);
}

TEST_F(InjectionTest, ASpoolThatReachesItsLimitKeepsWhatItHas) {
  EXPECT_EQ(job({"launch", "20000", "exit"}, {"TFERRY_SPOOL_LIMIT=1000000"}).end(), 0);
  EXPECT_EQ(trace::SpoolReader(spools()[0]).status()->state, trace::SpoolState::kSizeLimit);
  EXPECT_LE(fs::file_size(spools()[0]), 1000000u);
  EXPECT_GT(kernels(spools()[0]), 1000u);
}

}  // namespace
}  // namespace tferry::collector
