#pragma once

#include "trace/spool_format.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tferry::trace {

/// Why a spool cannot be read at all. The message says what is wrong, with which file, and what to do.
class SpoolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One record of a spool. Views memory of the reader: valid until its next call.
class SpoolRecordView {
 public:
  SpoolRecordView(RecordKind kind, std::span<const std::byte> fixed, std::span<const std::byte> variable)
      : kind_(kind), fixed_(fixed), variable_(variable) {}

  /// May be a kind that this version does not know.
  RecordKind kind() const { return kind_; }
  std::int64_t time_ns() const {
    std::int64_t time;
    std::memcpy(&time, fixed_.data(), sizeof time);
    return time;
  }

  /// A copy of the record if it is of that kind and whole. Fields that its writer did not know yet have their
  /// defaults.
  template <SpoolRecord Record>
  std::optional<Record> as() const {
    if (kind_ != Record::kKind) return std::nullopt;
    Record record;
    std::memcpy(&record, fixed_.data(), fixed_.size() < sizeof record ? fixed_.size() : sizeof record);
    return record;
  }

  std::span<const std::byte> variable() const { return variable_; }
  std::string_view text() const {
    return {static_cast<const char*>(static_cast<const void*>(variable_.data())), variable_.size()};
  }
  /// The entries behind an AccessRecord: as many as are there, whatever its `count` says.
  std::vector<AccessEntry> accesses() const;

 private:
  RecordKind kind_;
  std::span<const std::byte> fixed_, variable_;
};

/// What a reader had to leave out so far.
struct SpoolDamage {
  std::int64_t damaged_blocks = 0;     ///< places where blocks failed their checksums
  std::int64_t skipped_bytes = 0;      ///< bytes of these
  std::int64_t missing_blocks = 0;     ///< gaps in the numbering of blocks
  std::int64_t malformed_records = 0;  ///< inside good blocks: a writer's error
  std::int64_t last_good_ns = 0;       ///< time of the last record before the last damage
};

/// Where a whole block lies in its spool.
struct SpoolBlock {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;                  ///< with its header
  std::int64_t first_ns = 0, last_ns = 0;  ///< smallest and largest record time; 0 may mean unknown
  bool repeats = false;                    ///< records that an earlier file of the series had
};

/// Reads a spool: whole, cut anywhere, damaged, or still being written.
///
///   SpoolReader reader(path);
///   while (auto record = reader.next()) { ... }
///   // for a live spool: call next() again later; it goes on where it stood
///
/// Nothing in the file is trusted: sizes are checked against the file and the format's limits, and a block
/// counts only with both checksums right. After damage the reader looks for the next whole block. Memory: one
/// block.
///
/// Threads: one at a time.
class SpoolReader {
 public:
  /// Throws SpoolError if the file cannot be opened, is empty, no spool, has a damaged header or a newer
  /// version.
  explicit SpoolReader(const std::string& path);
  ~SpoolReader();
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;

  const SpoolHeader& header() const { return header_; }
  const std::string& path() const { return path_; }

  /// The next record; none when there is no further whole block at present.
  std::optional<SpoolRecordView> next();
  /// The block of the record that next() gave last.
  const SpoolBlock& block() const { return block_; }

  /// Goes to the beginning of a block, as block() told it; false if it is not whole any more.
  bool open_block(const SpoolBlock& block);
  /// The next record of the block; none at its end.
  std::optional<SpoolRecordView> next_in_block();

  /// The writer's status page as it is now; none if no slot is whole.
  std::optional<SpoolStatus> status() const;
  const SpoolDamage& damage() const { return damage_; }
  /// Bytes behind the last whole block at the last time that next() found nothing: cut or damaged for a
  /// finished spool, on its way for a live one.
  std::int64_t unread_bytes() const { return unread_bytes_; }
  std::int64_t blocks() const { return blocks_; }
  std::int64_t records() const { return records_; }

 private:
  bool read_at(void* data, std::size_t size, std::int64_t offset) const;
  std::int64_t file_size() const;
  void check_header();
  struct BlockCheck {
    bool good = false;
    std::int64_t bytes = 0;  ///< that the block takes in the file, 0: not a block
  };
  BlockCheck load_block(std::int64_t offset, std::int64_t size);
  std::int64_t find_magic(std::int64_t from, std::int64_t size) const;
  bool next_block();

  std::string path_;
  int file_ = -1;
  SpoolHeader header_;
  SpoolBlock block_;
  std::vector<std::byte> payload_;
  std::size_t at_ = 0;  ///< in payload_
  std::int64_t offset_ = kBlocksOffset;
  std::uint64_t next_sequence_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t unread_bytes_ = 0;
  std::int64_t blocks_ = 0, records_ = 0;
  SpoolDamage damage_;
};

}  // namespace tferry::trace
