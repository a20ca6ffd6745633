#include "cli/job/sampler_process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace tferry::cli {
namespace {

constexpr std::string_view kReady = "ready ";

void offer_library_folder(const std::string& folder) {
  if (folder.empty()) return;
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string path = before == nullptr || *before == '\0' ? folder : before + (":" + folder);
  ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}

[[noreturn]] void execute(std::vector<std::string> command, const std::string& library_folder, int input,
                          int output) {
  offer_library_folder(library_folder);
  if (::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0) ::_exit(127);
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  ::_exit(127);
}

/// The exit status once it ended; -1 if another wait took it.
int wait_for(pid_t pid) {
  int status = 0;
  pid_t got;
  do {
    got = ::waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  return got == pid ? status : -1;
}

}  // namespace

SamplerProcess::SamplerProcess(const std::filesystem::path& program,
                               const std::filesystem::path& run_directory, const Sampling& sampling,
                               const std::filesystem::path& cupti_folder,
                               std::chrono::milliseconds patience) {
  int input[2], output[2];
  if (::pipe2(input, O_CLOEXEC) != 0) {
    problem_ = "no pipe: " + std::generic_category().message(errno);
    return;
  }
  if (::pipe2(output, O_CLOEXEC) != 0) {
    problem_ = "no pipe: " + std::generic_category().message(errno);
    ::close(input[0]);
    ::close(input[1]);
    return;
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    execute({program.string(), "--run-dir", run_directory.string(), "--interval-us",
             std::to_string(sampling.interval_us), "--keep-last-ns", std::to_string(sampling.keep_last_ns)},
            cupti_folder.string(), input[0], output[1]);
  }
  const int error = errno;
  ::close(input[0]);
  ::close(output[1]);
  input_ = input[1];
  if (pid_ < 0) {
    problem_ = "no process can be made: " + std::generic_category().message(error);
  } else {
    wait_until_ready(output[0], patience);
  }
  ::close(output[0]);
}

void SamplerProcess::wait_until_ready(int output, std::chrono::milliseconds patience) {
  const auto due = std::chrono::steady_clock::now() + patience;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
    pollfd wait{output, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      problem_ = fmt::format("tferry-sampler did not answer within {} s", patience.count() / 1000);
      ::kill(pid_, SIGKILL);
      stop();
      return;
    }
    char buffer[512];
    const ssize_t got = ::read(output, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || line.size() > 4096) {
      if (input_ >= 0) ::close(input_);  // one that still runs ends with its input
      input_ = -1;
      const int status = wait_for(pid_);
      pid_ = -1;
      problem_ =
          status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3
              ? "tferry-sampler found nothing to sample"
              : "tferry-sampler ended before it sampled anything (is libcupti.so.13 there? set CUDA_HOME)";
      return;
    }
    line.append(buffer, static_cast<std::size_t>(got));
  }
  if (line.starts_with(kReady))
    std::from_chars(line.data() + kReady.size(), line.data() + line.size(), gpus_);
}

void SamplerProcess::stop() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
  if (pid_ > 0) wait_for(pid_);
  pid_ = -1;
}

SamplerProcess::~SamplerProcess() { stop(); }

}  // namespace tferry::cli
