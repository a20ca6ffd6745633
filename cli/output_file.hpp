#pragma once

#include <filesystem>
#include <string_view>

namespace tferry::cli {

/// A result file: checked before any work is done, written beside its final name and renamed, so that a
/// reader never sees half of it, and never written over an existing file unless `force`.
class OutputFile {
 public:
  /// Throws Failure if the file exists (without `force`), is a directory, or its folder cannot be written.
  OutputFile(std::filesystem::path path, bool force);

  /// Throws Failure with the system's reason; the final name is then as it was before.
  void publish(std::string_view contents) const;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  bool force_;
};

}  // namespace tferry::cli
