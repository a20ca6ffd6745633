#include "cli/job/signal_sentinel.hpp"

#include "cli/failure.hpp"

#include <cerrno>
#include <ctime>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr long kGraceNanoseconds = 2'000'000;

bool take_pending(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  if (::sigaddset(&set, signal) != 0) return false;
  const timespec grace = {0, kGraceNanoseconds};
  return ::sigtimedwait(&set, nullptr, &grace) == signal;
}

[[noreturn]] void watch(int channel, pid_t launcher) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "tferry-sentinel");
  if (::getppid() != launcher) ::_exit(0);
  constexpr int kKept = 3;
  if (channel != kKept && ::dup2(channel, kKept) != kKept) ::_exit(1);
  // Pipes of the job must not stay open because of us.
  for (const int descriptor : {0, 1, 2}) ::close(descriptor);
  ::close_range(kKept + 1, ~0U, 0);
  unsigned char signal = 0;
  while (::recv(kKept, &signal, 1, 0) == 1) {
    const unsigned char answer = take_pending(signal) ? 1 : 0;
    if (::send(kKept, &answer, 1, MSG_NOSIGNAL) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

SignalSentinel::SignalSentinel() {
  int channels[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channels) != 0) {
    throw Failure("no socket pair: " + std::generic_category().message(errno), "close other programs");
  }
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t launcher = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(channels[0]);
    watch(channels[1], launcher);
  }
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(channels[1]);
  channel_ = channels[0];
  if (pid_ < 0) {
    ::close(channel_);
    throw Failure("no process can be made: " + std::generic_category().message(error),
                  "check the limit of processes (ulimit -u) and free memory");
  }
}

SignalSentinel::~SignalSentinel() {
  ::close(channel_);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool SignalSentinel::group_received(int signal) {
  const auto question = static_cast<unsigned char>(signal);
  if (::send(channel_, &question, 1, MSG_NOSIGNAL) != 1) return false;
  unsigned char answer = 0;
  ssize_t received;
  do {
    received = ::recv(channel_, &answer, 1, 0);
  } while (received < 0 && errno == EINTR);
  return received == 1 && answer == 1;
}

}  // namespace tferry::cli
