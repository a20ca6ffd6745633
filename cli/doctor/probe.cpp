#include "cli/doctor/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxAnswer = 1 << 20;

[[noreturn]] void answer(const std::function<std::string()>& probe, int descriptor) {
  std::string text;
  try {
    text = probe();
  } catch (const std::exception&) {
    ::_exit(1);
  }
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + sent, text.size() - sent);
    if (written <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(written);
  }
  ::_exit(0);  // destructors of a driver are not ours to run
}

/// Reads until the end of file; false at the time limit.
bool read_until(int descriptor, Clock::time_point deadline, std::string& text) {
  std::array<char, 4096> buffer;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {descriptor, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxAnswer) text.resize(kMaxAnswer);
  }
}

}  // namespace

ProbeAnswer run_probe(const std::function<std::string()>& probe, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, std::generic_category().message(errno)};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    answer(probe, ends[1]);
  }
  const int error = errno;
  ::close(ends[1]);
  ProbeAnswer result;
  if (child < 0) {
    ::close(ends[0]);
    return {false, std::generic_category().message(error)};
  }
  const bool in_time = read_until(ends[0], deadline, result.text);
  ::close(ends[0]);
  if (!in_time) {
    ::kill(child, SIGKILL);
    // One that hangs in the kernel does not die: it is left to init.
    int status = 0;
    ::waitpid(child, &status, WNOHANG);
    return {false, fmt::format("it took longer than {} ms", limit.count())};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {false, fmt::format("it died of signal {}", WTERMSIG(status))};
  result.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!result.ok) result.text = "it ended without an answer";
  return result;
}

}  // namespace tferry::cli
