#include "cli/job/signal_sentinel.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

TEST(SignalSentinel, TellsGroupFromSingle) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGUSR1, &ignore, nullptr);
    ::sigaction(SIGTERM, &ignore, nullptr);
    SignalSentinel sentinel;
    ::kill(0, SIGUSR1);
    ::kill(::getpid(), SIGTERM);
    int wrong = 0;
    if (!sentinel.group_received(SIGUSR1)) wrong |= 1;
    if (sentinel.group_received(SIGUSR1)) wrong |= 2;  // told once only
    if (sentinel.group_received(SIGTERM)) wrong |= 4;
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SignalSentinel, AnswersNoWhenItIsGone) {
  SignalSentinel sentinel;
  ::kill(sentinel.pid(), SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(sentinel.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(sentinel.group_received(SIGTERM));
}

TEST(SignalSentinel, KeepsNoPipeOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  SignalSentinel sentinel;
  EXPECT_FALSE(sentinel.group_received(SIGTERM));  // by now it has closed what it inherited
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "end of file: nobody else holds the writing end";
  ::close(ends[0]);
}

}  // namespace
}  // namespace tferry::cli
