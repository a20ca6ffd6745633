#include "cli/demo/sample_run.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

constexpr std::size_t kMaxOutput = 1 << 20;
constexpr std::string_view kAnswer = "answer ok ";

[[noreturn]] void execute(const std::vector<std::string>& command, Environment& environment, int output) {
  ::dup2(output, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment.pointers();
  ::execve(command.front().c_str(), arguments.data(), variables.data());
  ::_exit(kNotFound);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    if (text.size() < kMaxOutput) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<std::string> SampleRun::answer() const {
  for (const std::string& line : lines) {
    if (!line.starts_with(kAnswer)) continue;
    const std::string rest = line.substr(kAnswer.size());
    return rest.substr(0, rest.find_first_of(", "));
  }
  return std::nullopt;
}

SampleRun run_sample(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  Environment environment(environ);
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    environment.set(variable.substr(0, equals), variable.substr(equals + 1));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw Failure("no pipe: " + std::generic_category().message(errno), "close other programs (ulimit -n)");
  }
  const pid_t child = ::fork();
  if (child == 0) execute(command, environment, ends[1]);
  const int error = errno;
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    throw Failure("no process can be made: " + std::generic_category().message(error),
                  "check the limit of processes (ulimit -u) and free memory");
  }
  const std::string output = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  SampleRun run;
  run.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) run.lines.push_back(line);
  return run;
}

}  // namespace tferry::cli
