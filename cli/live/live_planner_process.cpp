#include "cli/live/live_planner_process.hpp"

#include "cli/job/environment.hpp"
#include "cli/job/run_directory.hpp"
#include "cli/live/live_planner.hpp"
#include "trace/job_environment.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace names = trace::environment;

constexpr std::int64_t kSpoolLimit = std::int64_t{32} << 20;  // of each process, in memory: 70 steps of GPT-2
constexpr int kPatienceMs = 100;

/// Until the launcher lets go of the other end.
[[noreturn]] void watch(LivePlanner planner, int input) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    while (true) {
      planner.look();
      pollfd launcher{input, POLLIN, 0};
      if (::poll(&launcher, 1, kPatienceMs) > 0) ::_exit(0);
    }
  } catch (const std::exception&) {
    ::_exit(1);  // no memory: the job runs on without a plan
  }
}

}  // namespace

LivePlannerProcess::LivePlannerProcess(const std::filesystem::path& run_directory,
                                       std::optional<std::int64_t> movable,
                                       const analyzer::RouteFigures& routes, Environment& environment,
                                       const Console& console) {
  std::ofstream(run_directory / RunDirectory::kPassing) << "recorded to plan by\n";
  int ends[2];
  const bool piped = ::pipe2(ends, O_CLOEXEC) == 0;
  if (piped) pid_ = ::fork();
  if (piped && pid_ == 0) {
    ::close(ends[1]);
    watch(LivePlanner(run_directory, movable, routes, console), ends[0]);
  }
  if (pid_ < 0) {
    console.warning("no plan is made: no process can be made: " + std::generic_category().message(errno));
  } else {
    environment.set(names::kRecord, "1");
    environment.set(names::kTimes, "1");
    environment.set(names::kSpoolLimit, std::to_string(kSpoolLimit));
  }
  if (!piped) return;
  ::close(ends[0]);
  input_ = ends[1];
}

LivePlannerProcess::~LivePlannerProcess() {
  if (input_ >= 0) ::close(input_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // it may be planning, and nobody waits for that any more
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tferry::cli
