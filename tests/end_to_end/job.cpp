#include "tests/end_to_end/job.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/wait.h>
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

Ended run_job(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables) {
  std::FILE* out = std::tmpfile();
  std::FILE* err = std::tmpfile();
  if (out == nullptr || err == nullptr) throw std::runtime_error("no temporary file");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
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
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Ended ended;
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ended.out = take(out);
  ended.err = take(err);
  return ended;
}

}  // namespace tferry::end_to_end
