#pragma once

#include "trace/lasting_records.hpp"
#include "trace/spool_file.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

namespace tferry::trace {

/// The file under a SpoolWriter, or, where only the last while is to be kept, the files: a new one is begun
/// every half of that time, the last two before it stay, older ones are removed. So there is always at least
/// that time, at most one and a half of it, and whoever is killed leaves whole files.
///
/// A new file begins with what its records refer to (LastingRecords), in blocks that are marked, so that
/// readers of all files of a series take them from the first one only. Files change at multiples of the half
/// of the clock that all writers of a host share, so that all of them begin at about the same moment.
///
/// When a file would take more than a third of the size limit, the next one is begun early, and shortened()
/// tells. When the next one cannot be made, the present one goes on. No exceptions. Threads: one at a time.
class SpoolSeries {
 public:
  struct Options {
    SpoolSource source = SpoolSource::kUnknown;
    std::uint32_t block_bytes = 0;
    std::int64_t size_limit = 0;    ///< bytes of all files, 0: none
    std::int64_t keep_last_ns = 0;  ///< 0: everything, in one file
    SpoolFile::Write write = nullptr;
  };

  /// `stem` and a number make the names of the files. With one file, `stem` is its name if `number` is
  /// negative.
  SpoolFile::Created create(const std::string& stem, int number, const Options& options,
                            std::string* error) noexcept;
  void remove() noexcept { file_->remove(); }

  /// As SpoolFile's; the header and payload are of a block of block_bytes at most.
  bool write_block(BlockHeader header, std::byte* header_and_payload) noexcept;
  /// `loss` is everything that was lost so far; each file tells its own part.
  void write_status(std::span<const SpoolLoss, kMaxRecordKinds> loss, SpoolState state) noexcept;

  SpoolState state() const noexcept { return file_->state(); }
  /// Less than the time asked for is kept, because of the size limit.
  bool shortened() const noexcept { return shortened_; }

 private:
  bool due(std::size_t bytes) noexcept;
  void begin_next() noexcept;
  bool write_lasting(SpoolFile& file);
  std::int64_t part() const noexcept;

  Options options_;
  std::string stem_;
  int number_ = -1;
  std::unique_ptr<SpoolFile> file_ = std::make_unique<SpoolFile>();
  std::deque<std::string> earlier_;  ///< names of the files before it
  LastingRecords lasting_;
  bool forgetful_ = false;       ///< no memory for lasting_: no further file
  std::int64_t part_ = 0;        ///< of the clock, when the file was begun
  std::int64_t own_blocks_ = 0;  ///< of the file, behind the lasting records
  bool shortened_ = false;
  SpoolLoss loss_[kMaxRecordKinds];         ///< all, as told last
  SpoolLoss loss_before_[kMaxRecordKinds];  ///< of that, what earlier files told
};

}  // namespace tferry::trace
