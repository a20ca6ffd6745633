#include "trace/spool_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>

namespace tferry::trace {
namespace {

constexpr std::size_t kSearchChunk = 64 << 10;

std::uint64_t header_checksum(const BlockHeader& header, std::uint64_t file_id) {
  return XXH3_64bits_withSeed(&header, offsetof(BlockHeader, checksum), file_id);
}

}  // namespace

std::vector<AccessEntry> SpoolRecordView::accesses() const {
  std::vector<AccessEntry> entries(variable_.size() / sizeof(AccessEntry));
  if (!entries.empty()) std::memcpy(entries.data(), variable_.data(), entries.size() * sizeof(AccessEntry));
  return entries;
}

SpoolReader::SpoolReader(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw SpoolError("cannot open spool " + path + ": " + std::strerror(errno));
  try {
    check_header();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SpoolReader::~SpoolReader() { ::close(file_); }

void SpoolReader::check_header() {
  struct stat info{};
  if (fstat(file_, &info) != 0) throw SpoolError("cannot read spool " + path_ + ": " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw SpoolError(path_ + " is not a file");
  if (info.st_size == 0)
    throw SpoolError("spool " + path_ + " is empty: its job ended before it wrote anything");
  SpoolHeader header;
  const bool whole = read_at(&header, sizeof header, 0);
  if (!whole) header.magic = 0;
  if (!whole || header.magic != kSpoolMagic)
    throw SpoolError(path_ + " is not a Tensorferry spool, or cut in its first bytes");
  if (header.version > kSpoolVersion) {
    throw SpoolError("spool " + path_ + " has format version " + std::to_string(header.version) +
                     ", this tferry reads up to " + std::to_string(kSpoolVersion) +
                     ": use the tferry that recorded it, or a newer one");
  }
  if (header.checksum != XXH3_64bits(&header, offsetof(SpoolHeader, checksum)) ||
      header.block_bytes > kMaxBlockBytes || header.version == 0) {
    throw SpoolError("spool " + path_ + " has a damaged header: nothing in it can be trusted");
  }
  header_ = header;
}

std::optional<SpoolRecordView> SpoolReader::next() {
  for (;;) {
    if (const auto record = next_in_block()) return record;
    if (!next_block()) return std::nullopt;
  }
}

bool SpoolReader::open_block(const SpoolBlock& block) {
  payload_.clear();
  at_ = 0;
  return load_block(block.offset, file_size()).good;
}

std::optional<SpoolRecordView> SpoolReader::next_in_block() {
  while (at_ < payload_.size()) {
    RecordHeader header;
    const std::size_t left = payload_.size() - at_;
    if (left >= sizeof header) std::memcpy(&header, payload_.data() + at_, sizeof header);
    const std::size_t fixed_end = sizeof header + header.fixed_bytes;
    if (left < sizeof header || header.size > left || header.fixed_bytes < sizeof(std::int64_t) ||
        fixed_end > header.size) {
      ++damage_.malformed_records;
      at_ = payload_.size();
      continue;
    }
    const std::span<const std::byte> record = std::span(payload_).subspan(at_, header.size);
    at_ = std::min(payload_.size(), at_ + (header.size + 7) / 8 * 8);
    ++records_;
    return SpoolRecordView(header.kind, record.subspan(sizeof header, header.fixed_bytes),
                           record.subspan(fixed_end));
  }
  return std::nullopt;
}

bool SpoolReader::next_block() {
  payload_.clear();
  at_ = 0;
  const std::int64_t size = file_size();
  std::int64_t at = offset_;
  while (at + std::int64_t{sizeof(BlockHeader)} <= size) {
    const BlockCheck check = load_block(at, size);
    if (check.good) {
      if (at > offset_) {
        ++damage_.damaged_blocks;
        damage_.skipped_bytes += at - offset_;
        damage_.last_good_ns = last_ns_;
      }
      offset_ = at + check.bytes;
      unread_bytes_ = 0;
      return true;
    }
    // A header that is right tells where the next block begins; otherwise it may begin at every 8th byte.
    at = check.bytes > 0 ? at + check.bytes : find_magic(at + 8, size);
  }
  unread_bytes_ = std::max<std::int64_t>(0, size - offset_);
  return false;
}

SpoolReader::BlockCheck SpoolReader::load_block(std::int64_t offset, std::int64_t size) {
  BlockHeader block;
  if (!read_at(&block, sizeof block, offset) || block.magic != kBlockMagic ||
      block.checksum != header_checksum(block, header_.file_id) ||
      block.payload_bytes > header_.block_bytes || block.payload_bytes % 8 != 0) {
    return {};
  }
  const std::int64_t bytes = std::int64_t{sizeof block} + block.payload_bytes;
  if (bytes > size - offset) return {false, size - offset};
  payload_.resize(block.payload_bytes);
  if (!read_at(payload_.data(), payload_.size(), offset + std::int64_t{sizeof block}) ||
      XXH3_64bits_withSeed(payload_.data(), payload_.size(), header_.file_id) != block.payload_checksum) {
    payload_.clear();
    return {false, bytes};
  }
  if (block.sequence > next_sequence_)
    damage_.missing_blocks += static_cast<std::int64_t>(block.sequence - next_sequence_);
  next_sequence_ = block.sequence + 1;
  last_ns_ = block.last_ns;
  block_ = {offset, bytes, block.first_ns, block.last_ns, block.repeats != 0};
  ++blocks_;
  return {true, bytes};
}

std::int64_t SpoolReader::find_magic(std::int64_t from, std::int64_t size) const {
  std::vector<std::byte> chunk(kSearchChunk);
  while (from < size) {
    const auto length = static_cast<std::size_t>(std::min<std::int64_t>(kSearchChunk, size - from));
    if (!read_at(chunk.data(), length, from)) break;
    for (std::size_t i = 0; i + sizeof kBlockMagic <= length; i += 8) {
      if (std::memcmp(chunk.data() + i, &kBlockMagic, sizeof kBlockMagic) == 0)
        return from + static_cast<std::int64_t>(i);
    }
    from += static_cast<std::int64_t>(length);
  }
  return size;
}

std::optional<SpoolStatus> SpoolReader::status() const {
  std::optional<SpoolStatus> newest;
  for (int slot = 0; slot < 2; ++slot) {
    SpoolStatus status;
    if (!read_at(&status, sizeof status, kStatusOffset + slot * kStatusStride)) continue;
    if (status.sequence == 0 ||
        status.checksum != XXH3_64bits_withSeed(&status, offsetof(SpoolStatus, checksum), header_.file_id)) {
      continue;
    }
    if (!newest || status.sequence > newest->sequence) newest = status;
  }
  return newest;
}

bool SpoolReader::read_at(void* data, std::size_t size, std::int64_t offset) const {
  char* out = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = pread(file_, out, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<std::size_t>(got);
    offset += got;
  }
  return true;
}

std::int64_t SpoolReader::file_size() const {
  struct stat info{};
  return fstat(file_, &info) == 0 ? info.st_size : 0;
}

}  // namespace tferry::trace
