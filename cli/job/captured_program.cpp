#include "cli/job/captured_program.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tferry::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

[[noreturn]] void execute(std::vector<std::string> command, int input, int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (input >= 0) ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

/// A nameless file in memory with this text, to be read from its beginning: whoever does not read all of it
/// holds nobody up. -1: there is no memory for it.
int file_with(std::string_view text) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  while (file >= 0 && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      ::close(file);
      return -1;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (file >= 0) ::lseek(file, 0, SEEK_SET);
  return file;
}

/// Reads until the end, the time limit or too much.
void read_until(int descriptor, Clock::time_point due, CapturedRun& run) {
  char buffer[16384];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(due - Clock::now()).count();
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    run.in_time = ready > 0 || left > 0;
    if (!run.in_time) return;
    if (ready <= 0) continue;
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    run.complete = run.output.size() + static_cast<std::size_t>(got) <= kMaxOutput;
    if (!run.complete) return;
    run.output.append(buffer, static_cast<std::size_t>(got));
  }
}

/// Whoever has closed its output may run on: not beyond the time limit.
void wait_for(pid_t child, Clock::time_point due, CapturedRun& run) {
  int status = 0;
  pid_t ended = 0;
  while (run.in_time && run.complete && (ended = ::waitpid(child, &status, WNOHANG)) == 0) {
    run.in_time = Clock::now() < due;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) {
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
}

}  // namespace

CapturedRun run_captured(const std::vector<std::string>& command, std::chrono::milliseconds limit,
                         std::optional<std::string_view> input) {
  CapturedRun run;
  const int text = input ? file_with(*input) : -1;
  int ends[2];
  if ((input && text < 0) || ::pipe2(ends, O_CLOEXEC) != 0) {
    if (text >= 0) ::close(text);
    return run;
  }
  const auto due = Clock::now() + limit;
  const pid_t child = ::fork();
  if (child == 0) execute(command, text, ends[1]);
  ::close(ends[1]);
  if (child > 0) {
    ::setpgid(child, child);  // whoever of us comes first
    run.started = true;
    read_until(ends[0], due, run);
    wait_for(child, due, run);
  }
  ::close(ends[0]);
  if (text >= 0) ::close(text);
  return run;
}

}  // namespace tferry::cli
