#pragma once

#include "cli/testing/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace tferry::cli::testing_support {

namespace fs = std::filesystem;

/// How a shell line ended and what it said.
struct Ended {
  int status;
  std::string out, err;

  int exit_code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
  int signal() const { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }
  bool told(const std::string& part) const { return err.find(part) != std::string::npos; }
  bool printed(const std::string& part) const { return out.find(part) != std::string::npos; }
};

inline std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a line in sh, its output in files of `folder`.
inline Ended run_shell(const std::string& line, const fs::path& folder) {
  const std::string out = (folder / "out").string(), err = (folder / "err").string();
  std::fflush(stdout);  // or the child would write it, too
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (std::freopen(out.c_str(), "w", stdout) == nullptr ||
        std::freopen(err.c_str(), "w", stderr) == nullptr) {
      ::_exit(99);
    }
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(99);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {status, contents(out), contents(err)};
}

/// The program itself, copied beside a runtime library that does nothing, run by shell lines.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    fs::create_directories(root_ / "bin");
    fs::create_directories(root_ / "lib");
    fs::create_directories(root_ / "places");
    fs::copy_file(TFERRY_PROGRAM, root_ / "bin" / "tferry");
    fs::copy_file(TFERRY_IDLE_RUNTIME, library_);
  }

  /// Runs `line` in sh, where $T is the program; $D is an empty folder of the test.
  Ended sh(const std::string& line) const {
    return run_shell("export T=" + (root_ / "bin" / "tferry").string() + " D=" + root_.string() +
                         " XDG_RUNTIME_DIR=" + (root_ / "places").string() +
                         " TMPDIR=" + (root_ / "places").string() + "; cd $D; unset LD_PRELOAD; " + line,
                     root_);
  }

  TemporaryDirectory directory_;
  fs::path root_ = directory_.path();
  fs::path library_ = root_ / "lib" / "libtferry_runtime.so";
};

}  // namespace tferry::cli::testing_support
