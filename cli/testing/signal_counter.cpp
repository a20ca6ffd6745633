#include <array>
#include <cstdio>
#include <signal.h>
#include <unistd.h>

/// A job for tests of the launcher: says "up", then for every signal a line "SIGNAL COUNT" on descriptor 9,
/// in the order of their numbers where several are pending. Ends with exit code 5 at SIGPWR. SIGTSTP keeps
/// its effect.
int main() {
  constexpr std::array kCounted = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT, SIGPWR};
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kCounted) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::FILE* const out = ::fdopen(9, "w");
  if (out == nullptr) return 1;
  std::setvbuf(out, nullptr, _IOLBF, BUFSIZ);
  std::fputs("up\n", out);
  std::array<int, 65> count{};
  while (true) {
    const int signal = ::sigwaitinfo(&set, nullptr);
    if (signal < 0) continue;
    if (signal == SIGPWR) return 5;
    ++count[static_cast<std::size_t>(signal)];
    std::fprintf(out, "%d %d\n", signal, count[static_cast<std::size_t>(signal)]);
  }
}
