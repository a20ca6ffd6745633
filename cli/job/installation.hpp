#pragma once

#include <filesystem>
#include <optional>

namespace tferry::cli {

/// Where our own files lie, found from the program's own place, so that a build tree, an installation and a
/// bundle copied anywhere all work: programs in bin/, libraries in lib/ (or lib64/) beside it.
class Installation {
 public:
  /// Of the running program (/proc/self/exe). Throws Failure if that cannot be read.
  static Installation of_this_program();
  explicit Installation(std::filesystem::path program);

  const std::filesystem::path& program() const noexcept { return program_; }
  std::optional<std::filesystem::path> library(const char* name) const;
  std::optional<std::filesystem::path> executable(const char* name) const;
  /// The folder of our start-up hook for Python.
  std::optional<std::filesystem::path> python_hook() const;
  /// Throws Failure that says where it was looked for, and what to do.
  std::filesystem::path runtime_library() const;

 private:
  std::filesystem::path program_;
};

}  // namespace tferry::cli
