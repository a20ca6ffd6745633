#include "cli/job/launcher.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/signal_sentinel.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr std::array kForwarded = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGTSTP, SIGCONT};

/// Blocks what the launcher waits for, and gives mask and dispositions back at the end.
class SignalScope {
 public:
  SignalScope() {
    ::sigemptyset(&waited_);
    for (const int signal : kForwarded) ::sigaddset(&waited_, signal);
    ::sigaddset(&waited_, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &waited_, &mask_before_);
    struct sigaction standard{}, ignore{};
    standard.sa_handler = SIG_DFL;
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &standard, &child_before_);  // ignored, it would take the exit code away
    ::sigaction(SIGPIPE, &ignore, &pipe_before_);     // a closed stderr must not cost the exit code
  }
  ~SignalScope() {
    drain();
    restore();
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  void restore() const {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  int wait() const { return ::sigwaitinfo(&waited_, nullptr); }

 private:
  void drain() const {
    const timespec now = {0, 0};
    while (::sigtimedwait(&waited_, nullptr, &now) > 0) {
    }
  }

  sigset_t waited_;
  sigset_t mask_before_;
  struct sigaction child_before_{};
  struct sigaction pipe_before_{};
};

[[noreturn]] void execute(const JobCommand& command, Environment& environment, const SignalScope& signals,
                          int report) {
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment.pointers();
  signals.restore();
  ::execvpe(command.file.c_str(), arguments.data(), variables.data());
  const int error = errno;
  (void)!::write(report, &error, sizeof error);
  ::_exit(error == ENOENT ? kNotFound : kNotExecutable);
}

[[noreturn]] void report_exec_failure(const JobCommand& command, int error) {
  if (error == ENOENT) {
    throw Failure(
        fmt::format("{}: cannot be executed: the interpreter that it asks for is missing", command.file),
        "check its first line (#!...) or, for a binary, its loader (readelf -l)", kNotFound);
  }
  const char* remedy = error == E2BIG     ? "shorten the arguments or the environment"
                       : error == ENOEXEC ? "it was built for another machine, or is no program"
                                          : "check its permissions and the mount options of its file system";
  throw Failure(
      fmt::format("{}: cannot be executed: {}", command.file, std::generic_category().message(error)), remedy,
      kNotExecutable);
}

void stop_with_job(int signal) {
  if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) ::raise(SIGSTOP);
}

/// The job's end, once it ended. As process 1 of a container we inherit strangers, and reap them.
std::optional<JobEnd> reap(pid_t job) {
  const pid_t whom = ::getpid() == 1 ? -1 : job;
  int status = 0;
  pid_t pid;
  while ((pid = ::waitpid(whom, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != job) continue;
    if (WIFSTOPPED(status)) stop_with_job(WSTOPSIG(status));
    if (WIFEXITED(status)) return JobEnd{false, WEXITSTATUS(status)};
    if (WIFSIGNALED(status)) return JobEnd{true, WTERMSIG(status)};
  }
  return std::nullopt;
}

JobEnd wait_for(pid_t job, const SignalScope& signals, SignalSentinel& sentinel) {
  while (true) {
    const int signal = signals.wait();
    if (signal == SIGCHLD) {
      if (const auto end = reap(job)) return *end;
    } else if (signal > 0 && !sentinel.group_received(signal)) {
      ::kill(job, signal);
    }
  }
}

int read_exec_error(int descriptor) {
  int error = 0;
  ssize_t got;
  do {
    got = ::read(descriptor, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

}  // namespace

JobEnd run_job(const JobCommand& command, Environment& environment) {
  const SignalScope signals;
  SignalSentinel sentinel;
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    throw Failure("no pipe: " + std::generic_category().message(errno), "close other programs (ulimit -n)");
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t job = ::fork();
  if (job == 0) execute(command, environment, signals, report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  if (job < 0) {
    ::close(report[0]);
    throw Failure("no process can be made: " + std::generic_category().message(fork_error),
                  "check the limit of processes (ulimit -u) and free memory");
  }
  const int exec_error = read_exec_error(report[0]);
  ::close(report[0]);
  if (exec_error != 0) {
    while (::waitpid(job, nullptr, 0) < 0 && errno == EINTR) {
    }
    report_exec_failure(command, exec_error);
  }
  JobEnd end = wait_for(job, signals, sentinel);
  end.duration_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return end;
}

int repeat_end(const JobEnd& end) {
  if (!end.signalled) return end.code;
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;
  ::sigaction(end.code, &standard, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, end.code);
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(end.code);
  return 128 + end.code;
}

}  // namespace tferry::cli
