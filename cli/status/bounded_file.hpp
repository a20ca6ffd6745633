#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tferry::cli {

/// The first bytes of a regular file that somebody else may be writing, cutting or replacing: read by copy,
/// so that no later change can touch us (a mapping of a file that shrinks would end in SIGBUS).
class BoundedFile {
 public:
  /// Reads at most `limit` bytes from `offset` on. Does not throw; see `defect`.
  BoundedFile(const std::filesystem::path& path, std::size_t limit, std::size_t offset = 0);

  bool ok() const noexcept { return defect_.empty(); }
  const std::string& defect() const noexcept { return defect_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  std::size_t file_size() const noexcept { return file_size_; }  ///< when it was opened

 private:
  std::vector<std::byte> bytes_;
  std::size_t file_size_ = 0;
  std::string defect_;
};

}  // namespace tferry::cli
