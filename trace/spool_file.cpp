#include "trace/spool_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <ctime>

namespace tferry::trace {
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int rename_without_replacing(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Some file systems do not know the flag; a hard link refuses an existing name as well.
  if (link(from, to) != 0) return errno;
  unlink(from);
  return 0;
}

}  // namespace

SpoolFile::~SpoolFile() {
  if (file_ >= 0) ::close(file_);
}

SpoolFile::Created SpoolFile::create(const std::string& path, const Options& options, Write write,
                                     std::string* error) noexcept {
  path_ = path;
  size_limit_ = options.size_limit;
  write_ = write;
  const pid_t pid = getpid();
  const std::string building = path + ".new." + std::to_string(pid);
  const auto fail = [&](int error_number) {
    if (error) *error = "cannot create spool " + path + ": " + std::strerror(error_number);
    if (file_ >= 0) unlink(building.c_str());
    return error_number == EEXIST ? Created::kExists : Created::kFailed;
  };
  file_ = ::open(building.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0) return fail(errno);

  SpoolHeader header;
  header.block_bytes = options.block_bytes;
  header.pid = pid;
  header.source = options.source;
  header.start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.clock_error_ns = clock_ns(CLOCK_MONOTONIC) - header.start_monotonic_ns;
  const std::uint64_t identity[] = {static_cast<std::uint64_t>(header.start_realtime_ns),
                                    static_cast<std::uint64_t>(pid),
                                    static_cast<std::uint64_t>(options.source)};
  file_id_ = header.file_id = XXH3_64bits(identity, sizeof identity);
  header.series = series_ = options.series == kNewSeries ? file_id_ : options.series;
  header.checksum = XXH3_64bits(&header, offsetof(SpoolHeader, checksum));
  if (!write_all(&header, sizeof header, 0)) return fail(error_number_);
  // Both slots now, so that telling of a full disk later needs no new page.
  const SpoolLoss none[kMaxRecordKinds] = {};
  write_status(none, SpoolState::kRunning);
  write_status(none, SpoolState::kRunning);
  if (state_ != SpoolState::kRunning) return fail(error_number_);
  const int rename_error = rename_without_replacing(building.c_str(), path.c_str());
  return rename_error == 0 ? Created::kOk : fail(rename_error);
}

void SpoolFile::remove() noexcept { unlink(path_.c_str()); }

bool SpoolFile::write_block(BlockHeader header, std::byte* header_and_payload) noexcept {
  const std::byte* payload = header_and_payload + sizeof header;
  const std::size_t size = sizeof header + header.payload_bytes;
  if (state_ != SpoolState::kRunning) return false;
  if (size_limit_ > 0 && end_ + static_cast<std::int64_t>(size) > size_limit_) {
    state_ = SpoolState::kSizeLimit;
    return false;
  }
  header.sequence = blocks_;
  header.payload_checksum = XXH3_64bits_withSeed(payload, header.payload_bytes, file_id_);
  header.checksum = XXH3_64bits_withSeed(&header, offsetof(BlockHeader, checksum), file_id_);
  std::memcpy(header_and_payload, &header, sizeof header);
  if (!write_all(header_and_payload, size, end_)) {
    // Readers would skip the cut block too; a file without it is easier to explain.
    if (ftruncate(file_, end_) != 0) error_number_ = errno;
    return false;
  }
  end_ += static_cast<std::int64_t>(size);
  ++blocks_;
  records_ += header.record_count;
  return true;
}

void SpoolFile::write_status(std::span<const SpoolLoss, kMaxRecordKinds> loss, SpoolState state) noexcept {
  SpoolStatus status;
  status.sequence = ++status_sequence_;
  status.state = state;
  status.error_number = error_number_;
  status.blocks = static_cast<std::int64_t>(blocks_);
  status.records = records_;
  std::memcpy(status.loss, loss.data(), loss.size_bytes());
  status.checksum = XXH3_64bits_withSeed(&status, offsetof(SpoolStatus, checksum), file_id_);
  write_all(&status, sizeof status,
            kStatusOffset + kStatusStride * static_cast<std::int64_t>(status.sequence % 2));
}

bool SpoolFile::write_all(const void* data, std::size_t size, std::int64_t offset) noexcept {
  // A write beyond the process's own limit would raise SIGXFSZ on the calling thread.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(offset) + size > limit.rlim_cur) {
    state_ = SpoolState::kSizeLimit;
    error_number_ = EFBIG;
    return false;
  }
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = write_(file_, bytes, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_number_ = written < 0 ? errno : ENOSPC;
      const bool full = error_number_ == ENOSPC || error_number_ == EDQUOT;
      state_ = full ? SpoolState::kDiskFull : SpoolState::kWriteError;
      return false;
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
    offset += written;
  }
  return true;
}

}  // namespace tferry::trace
