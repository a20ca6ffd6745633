#pragma once

#include "trace/spool_format.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>

namespace tferry::trace {

/// The file under a SpoolWriter: creation, whole blocks, the status page, and what happens when the disk says
/// no. No exceptions. Threads: one at a time.
class SpoolFile {
 public:
  using Write = ssize_t (*)(int file, const void* data, std::size_t size, off_t offset);
  enum class Created { kOk, kExists, kFailed };
  static constexpr std::uint64_t kNoSeries = 0, kNewSeries = 1;
  struct Options {
    SpoolSource source = SpoolSource::kUnknown;
    std::uint32_t block_bytes = 0;
    std::int64_t size_limit = 0;  ///< bytes, 0: none
    std::uint64_t series =
        kNoSeries;  ///< kNewSeries: this file is the first of one; else series() of another
  };

  SpoolFile() = default;
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  /// Creates the file beside `path` and gives it that name only when its header is whole; never replaces a
  /// file.
  Created create(const std::string& path, const Options& options, Write write, std::string* error) noexcept;
  void remove() noexcept;

  /// Completes the header (times and record count are the caller's) and writes it with the payload behind it
  /// in one write. On failure the file is cut to its last whole block, state() tells why, and nothing more is
  /// written to it.
  bool write_block(BlockHeader header, std::byte* header_and_payload) noexcept;
  /// Works on a full disk too: it rewrites a page that the file already has.
  void write_status(std::span<const SpoolLoss, kMaxRecordKinds> loss, SpoolState state) noexcept;

  SpoolState state() const noexcept { return state_; }
  const std::string& path() const noexcept { return path_; }
  std::uint64_t series() const noexcept { return series_; }
  std::int64_t bytes() const noexcept { return end_; }

 private:
  bool write_all(const void* data, std::size_t size, std::int64_t offset) noexcept;

  std::string path_;
  int file_ = -1;
  Write write_ = nullptr;
  std::int64_t size_limit_ = 0;
  std::uint64_t file_id_ = 0;
  std::uint64_t series_ = kNoSeries;
  std::int64_t end_ = kBlocksOffset;
  std::uint64_t blocks_ = 0;
  std::int64_t records_ = 0;
  std::uint64_t status_sequence_ = 0;
  SpoolState state_ = SpoolState::kRunning;
  int error_number_ = 0;
};

}  // namespace tferry::trace
