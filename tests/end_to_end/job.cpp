#include "tests/end_to_end/job.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tferry::end_to_end {
namespace {

std::string take(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char part[4096];
  while (const std::size_t count = std::fread(part, 1, sizeof part, file)) text.append(part, count);
  std::fclose(file);
  return text;
}

}  // namespace

std::string Ended::answer() const {
  const std::string words = "answer ok ";
  const auto at = out.find(words);
  if (at == std::string::npos) return {};
  return out.substr(at + words.size(), out.find(',', at) - at - words.size());
}

RunningJob::RunningJob(const std::vector<std::string>& command,
                       const std::map<std::string, std::string>& variables)
    : out_(std::tmpfile()), err_(std::tmpfile()), child_(-1) {
  if (out_ == nullptr || err_ == nullptr) throw std::runtime_error("no temporary file");
  child_ = fork();
  if (child_ < 0) throw std::runtime_error("fork");
  if (child_ > 0) return;
  dup2(fileno(out_), STDOUT_FILENO);
  dup2(fileno(err_), STDERR_FILENO);
  for (const auto& [name, value] : variables) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(strdup(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(errno == ENOENT ? 127 : 126);
}

RunningJob::~RunningJob() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  std::fclose(out_);
  std::fclose(err_);
}

void RunningJob::send(int signal) const { kill(child_, signal); }

Ended RunningJob::wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  pid_t ended_child = 0;
  while ((ended_child = waitpid(child_, &status, WNOHANG)) == 0 || (ended_child < 0 && errno == EINTR)) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child_, SIGKILL);
      waitpid(child_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  child_ = -1;
  Ended ended;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.out = take(out_);
  ended.err = take(err_);
  return ended;
}

Ended run_job(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables) {
  return RunningJob(command, variables).wait();
}

}  // namespace tferry::end_to_end
