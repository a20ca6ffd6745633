#include "cli/job/captured_program.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

[[noreturn]] void execute(std::vector<std::string> command, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

/// Reads until the end; false at the time limit.
bool read_until(int descriptor, Clock::time_point due, std::string& text) {
  char buffer[16384];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - Clock::now()).count();
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 && left <= 0) return false;
    if (ready <= 0) continue;
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() < kMaxOutput) text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

CapturedRun run_captured(const std::vector<std::string>& command, std::chrono::milliseconds limit) {
  CapturedRun run;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return run;
  const pid_t child = ::fork();
  if (child == 0) execute(command, ends[1]);
  ::close(ends[1]);
  if (child > 0) {
    run.started = true;
    run.in_time = read_until(ends[0], Clock::now() + limit, run.output);
    if (!run.in_time) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  }
  ::close(ends[0]);
  return run;
}

}  // namespace tferry::cli
