#pragma once

#include "trace/records.hpp"

#include <cstdint>

namespace tferry::trace {

// The spool file. Flow: the libraries in a job (and the sampler) append records; launcher, `tferry merge` and
// tests read them, also while the job still runs. Little-endian throughout.
//
//   0       SpoolHeader          once, at the start; the file appears under its name with it
//   4096    SpoolStatus, slot 0  rewritten in place by turns, the one with the higher sequence counts,
//   8192    SpoolStatus, slot 1  so that a full disk and dropped records can still be told
//   12288   blocks: BlockHeader, then records: RecordHeader, fixed part, variable part, padded to 8 bytes
//
// Only whole blocks count: every block has the checksum of its header and of its payload, seeded with the
// file's id. A file cut anywhere reads up to its last whole block; damage in the middle costs the blocks it
// touches.

inline constexpr std::uint64_t kSpoolMagic = 0x4c4f'4f50'5346'5401;  // "\1TFSPOOL"
inline constexpr std::uint64_t kBlockMagic = 0x4b43'4f4c'4246'5402;  // "\2TFBLOCK"
inline constexpr std::uint32_t kSpoolVersion = 1;  ///< grows when an older reader would misread the file
inline constexpr std::uint32_t kMaxBlockBytes = 16 << 20;
inline constexpr std::int64_t kStatusOffset = 4096;
inline constexpr std::int64_t kStatusStride = 4096;
inline constexpr std::int64_t kBlocksOffset = 12288;

struct SpoolHeader {
  std::uint64_t magic = kSpoolMagic;
  std::uint32_t version = kSpoolVersion;
  std::uint32_t block_bytes = 0;  ///< no block has more payload
  std::uint64_t file_id = 0;
  std::int32_t pid = 0;
  SpoolSource source = SpoolSource::kUnknown;
  std::int64_t start_monotonic_ns = 0;  ///< CLOCK_MONOTONIC and
  std::int64_t start_realtime_ns = 0;   ///< CLOCK_REALTIME at the same moment, to align hosts
  std::int64_t clock_error_ns = 0;      ///< how far apart the two readings may be
  std::uint64_t series =
      0;  ///< file_id of the first of the files that a writer made one after the other; 0: alone
  std::uint64_t reserved[7] = {};
  std::uint64_t checksum = 0;  ///< XXH3 of everything before it
};

enum class SpoolState : std::uint32_t {
  kRunning = 0,  ///< or ended without a word: SIGKILL, power
  kClosed,
  kDiskFull,
  kSizeLimit,
  kWriteError
};

/// Records of one kind that the spool had to drop.
struct SpoolLoss {
  std::int64_t count = 0;
  std::int64_t first_ns = 0, last_ns = 0;  ///< times of the first and the last one dropped
};

struct SpoolStatus {
  std::uint64_t sequence = 0;  ///< 0: never written
  SpoolState state = SpoolState::kRunning;
  std::int32_t error_number = 0;  ///< errno of kDiskFull and kWriteError
  std::int64_t blocks = 0;        ///< written so far
  std::int64_t records = 0;
  SpoolLoss loss[kMaxRecordKinds];  ///< by RecordKind
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SpoolStatus) <= kStatusStride);

struct BlockHeader {
  std::uint64_t magic = kBlockMagic;
  std::uint64_t sequence = 0;       ///< of the block, from 0
  std::uint32_t payload_bytes = 0;  ///< multiple of 8
  std::uint32_t record_count = 0;
  std::int64_t first_ns = 0, last_ns = 0;  ///< smallest and largest record time
  std::uint64_t repeats = 0;               ///< 1: records that an earlier file of the series had
  std::uint64_t payload_checksum = 0;      ///< XXH3 seeded with file_id
  std::uint64_t checksum = 0;              ///< the same of the header before it
};
static_assert(sizeof(BlockHeader) == 64);

struct RecordHeader {
  RecordKind kind = RecordKind::kNone;
  std::uint16_t fixed_bytes = 0;  ///< of the struct as its writer knew it; the variable part follows
  std::uint32_t size = 0;         ///< of header, fixed part and variable part, without padding
};
static_assert(sizeof(RecordHeader) == 8);

}  // namespace tferry::trace
