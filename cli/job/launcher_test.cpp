#include "cli/job/launcher.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tferry::cli {
namespace {

JobEnd run_shell(const std::string& script) {
  Environment environment(environ);
  return run_job({"/bin/sh", {"sh", "-c", script}}, environment);
}

/// Runs `body` in a child of its own process group, as a shell with job control would, and returns its wait
/// status. The body tells through a pipe when the job is up, so that tests wait for events and not for time.
class LauncherProcess {
 public:
  explicit LauncherProcess(const std::string& script) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      ::close(ready[0]);
      ::dup2(ready[1], 9);
      ::close(ready[1]);
      ::_exit(repeat_end(run_shell(script)));
    }
    ::close(ready[1]);
    ready_ = ready[0];
  }
  ~LauncherProcess() {
    ::kill(-pid_, SIGKILL);
    ::close(ready_);
  }

  /// Waits for the job's next line on descriptor 9.
  std::string line() const {
    std::string text;
    char c = 0;
    while (::read(ready_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  int wait(int options = 0) const {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, options), pid_);
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  int ready_;
};

TEST(Launcher, PassesTheExitCode) {
  for (const int code : {0, 1, 42, 125, 255}) {
    const JobEnd end = run_shell("exit " + std::to_string(code));
    EXPECT_FALSE(end.signalled);
    EXPECT_EQ(end.code, code);
  }
}

TEST(Launcher, ReportsTheSignal) {
  const JobEnd end = run_shell("kill -TERM $$");
  EXPECT_TRUE(end.signalled);
  EXPECT_EQ(end.code, SIGTERM);
}

TEST(Launcher, JobGetsTheChangedEnvironmentAndItsName) {
  Environment environment(environ);
  environment.set("TFERRY_TEST_VALUE", "ferry");
  const JobEnd end = run_job(
      {"/bin/sh", {"my-name", "-c", R"([ "$0 $TFERRY_TEST_VALUE" = "my-name ferry" ])"}}, environment);
  EXPECT_EQ(end.code, 0);
}

TEST(Launcher, MissingInterpreterAndForeignBinaryAreTold) {
  const testing_support::TemporaryDirectory directory;
  const auto make = [&](const char* name, const std::string& text) {
    const auto path = directory.path() / name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  };
  const auto exit_code = [](const std::string& path) {
    try {
      Environment environment(environ);
      return run_job({path, {path}}, environment).code;
    } catch (const Failure& failure) {
      return failure.exit_code();
    }
  };
  EXPECT_EQ(exit_code(make("script", "#!/no/such/interpreter\n")), kNotFound);
  EXPECT_EQ(exit_code(make("plain", "exit 7\n")), 7)
      << "a script without a first line runs in sh, as in a shell";
}

TEST(Launcher, IgnoredChildSignalDoesNotCostTheExitCode) {
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  EXPECT_EQ(run_shell("exit 3").code, 3);
  struct sigaction now{};
  ::sigaction(SIGCHLD, &before, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(Launcher, JobKeepsMaskAndDispositions) {
  // A blocked signal that the launcher waits for must not be blocked in the job.
  EXPECT_EQ(run_shell("grep -q 'SigBlk:.0*$' /proc/self/status").code, 0);
}

TEST(RepeatEnd, DiesOfTheJobsSignalWithoutACore) {
  for (const int signal : {SIGTERM, SIGKILL, SIGSEGV}) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(repeat_end({true, signal, 0}));
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << signal;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_FALSE(WCOREDUMP(status));
  }
}

class ForwardedSignal : public testing::TestWithParam<int> {
 protected:
  static std::string line(int signal, int count) {
    return std::to_string(signal) + " " + std::to_string(count);
  }

  /// What comes after the signal in question, and has a higher number, is handled after it by launcher and
  /// job: had the launcher sent that signal once more, the job would have told it before this one.
  void expect_nothing_but_what_follows() const {
    ASSERT_EQ(::kill(launcher_.pid(), SIGCONT), 0);
    EXPECT_EQ(launcher_.line(), line(SIGCONT, 1));
  }

  const LauncherProcess launcher_{std::string("exec ") + TFERRY_SIGNAL_COUNTER};
};

TEST_P(ForwardedSignal, SentToTheLauncherReachesTheJobOnce) {
  ASSERT_EQ(launcher_.line(), "up");
  ASSERT_EQ(::kill(launcher_.pid(), GetParam()), 0);
  EXPECT_EQ(launcher_.line(), line(GetParam(), 1));
  expect_nothing_but_what_follows();
}

TEST_P(ForwardedSignal, SentToTheGroupReachesTheJobOnce) {
  ASSERT_EQ(launcher_.line(), "up");
  ASSERT_EQ(::kill(-launcher_.pid(), GetParam()), 0);
  EXPECT_EQ(launcher_.line(), line(GetParam(), 1));
  expect_nothing_but_what_follows();
}

INSTANTIATE_TEST_SUITE_P(All, ForwardedSignal,
                         testing::Values(SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM));

TEST(Launcher, DiesOfTheForwardedSignalLikeTheJob) {
  const LauncherProcess launcher("echo up >&9; exec sleep 1000");
  ASSERT_EQ(launcher.line(), "up");
  ASSERT_EQ(::kill(launcher.pid(), SIGTERM), 0);
  const int status = launcher.wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Launcher, StopsAndContinuesWithTheJob) {
  const LauncherProcess launcher(std::string("exec ") + TFERRY_SIGNAL_COUNTER);
  ASSERT_EQ(launcher.line(), "up");
  ASSERT_EQ(::kill(-launcher.pid(), SIGTSTP), 0);
  ASSERT_TRUE(WIFSTOPPED(launcher.wait(WUNTRACED)));
  ASSERT_EQ(::kill(-launcher.pid(), SIGCONT), 0);
  EXPECT_EQ(launcher.line(), std::to_string(SIGCONT) + " 1");
  ASSERT_EQ(::kill(-launcher.pid(), SIGPWR), 0);
  launcher.wait();
}

}  // namespace
}  // namespace tferry::cli
