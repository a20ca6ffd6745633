#include "trace/session_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <vector>

namespace tferry::trace {
namespace {

using Reason = SessionError::Reason;

class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

SessionError system_error(const std::string& what, int error_number) {
  const std::string message = what + ": " + std::strerror(error_number);
  switch (error_number) {
    case ENOENT:
      return {Reason::kMissing, message};
    case EACCES:
    case EPERM:
      return {Reason::kNoAccess, message};
    case EROFS:
      return {Reason::kReadOnly, message};
    case EEXIST:
      return {Reason::kExists, message};
    case ENOSPC:
    case EDQUOT:
      return {Reason::kDiskFull, message};
    default:
      return {Reason::kFailed, message};
  }
}

std::uint32_t big_endian(const unsigned char* bytes, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

void copy_contents(int from, int to, const std::string& path) {
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot copy to " + path, errno);
    if (got == 0) break;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw system_error("cannot write " + path, errno);
      done += written;
    }
  }
  if (fsync(to) != 0) throw system_error("cannot write " + path, errno);
}

/// 0 or an errno.
int rename_file(const std::string& from, const std::string& to, bool force) {
  if (force) return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Network file systems do not know the flag; a hard link refuses an existing name as well.
  if (link(from.c_str(), to.c_str()) != 0) return errno;
  unlink(from.c_str());
  return 0;
}

}  // namespace

bool on_network_file_system(const std::string& path) {
  // Magic numbers as statfs(2) and the kernel's linux/magic.h give them; the last ones are Lustre, GPFS and
  // BeeGFS.
  constexpr std::array<std::uint32_t, 11> kNetwork = {0x6969,     0x517b,     0xff534d42, 0xfe534d42,
                                                      0x00c36400, 0x01021997, 0x65735546, 0x5346414f,
                                                      0x0bd00bd0, 0x47504653, 0x19830326};
  struct statfs info{};
  if (statfs(path.empty() ? "." : path.c_str(), &info) != 0) return false;
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<std::uint32_t>(info.f_type)) !=
         kNetwork.end();
}

void check_session_file(const std::string& path) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  if (!file.is_open()) throw system_error("cannot open session " + path, errno);
  struct stat info{};
  if (fstat(file.get(), &info) != 0) throw system_error("cannot open session " + path, errno);
  if (!S_ISREG(info.st_mode)) throw SessionError(Reason::kNotAFile, path + " is not a file");
  if (info.st_size == 0) {
    throw SessionError(Reason::kEmpty,
                       "session " + path + " is empty: its recording wrote nothing, or was not finished");
  }
  // The database header: https://www.sqlite.org/fileformat2.html, section 1.3.
  std::array<unsigned char, 100> header{};
  const ssize_t got = pread(file.get(), header.data(), header.size(), 0);
  constexpr char kMagic[] = "SQLite format 3";
  if (got < 16 || std::memcmp(header.data(), kMagic, sizeof kMagic) != 0) {
    throw SessionError(Reason::kNotSqlite, path + " is not a Tensorferry session (not an SQLite database)");
  }
  const std::uint32_t page_code = big_endian(&header[16], 2);
  const std::int64_t page_bytes = page_code == 1 ? 65536 : page_code;
  const std::int64_t expected = page_bytes * big_endian(&header[28], 4);
  // With a journal beside it the file may be in the middle of a change: then SQLite tells.
  const bool size_is_valid = big_endian(&header[24], 4) == big_endian(&header[92], 4) &&
                             access((path + "-journal").c_str(), F_OK) != 0;
  if (got < static_cast<ssize_t>(header.size()) || (size_is_valid && info.st_size < expected)) {
    throw SessionError(Reason::kTruncated,
                       "session " + path + " is truncated: " + std::to_string(info.st_size) + " of " +
                           std::to_string(expected) + " bytes are there; copy it again, or make it " +
                           "anew from its spools with `tferry merge`");
  }
}

void publish_file(const std::string& from, const std::string& to, bool force) {
  const auto fail = [&](int error_number) {
    if (error_number == EEXIST) {
      return SessionError(Reason::kExists,
                          to + " exists already: choose another name or ask to overwrite it");
    }
    return system_error("cannot write session " + to, error_number);
  };
  int error_number = rename_file(from, to, force);
  if (error_number == EXDEV) {
    const std::string beside = to + ".partial." + std::to_string(getpid());
    try {
      const File source(from, O_RDONLY);
      if (!source.is_open()) throw system_error("cannot read " + from, errno);
      const File target(beside, O_WRONLY | O_CREAT | O_TRUNC);
      if (!target.is_open()) throw system_error("cannot write " + beside, errno);
      copy_contents(source.get(), target.get(), beside);
    } catch (...) {
      unlink(beside.c_str());
      throw;
    }
    error_number = rename_file(beside, to, force);
    unlink(error_number == 0 ? from.c_str() : beside.c_str());
  }
  if (error_number != 0) throw fail(error_number);
}

}  // namespace tferry::trace
