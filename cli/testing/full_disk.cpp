// Preloaded by tests in front of libc: a disk that fills up. Files with FULL_DISK_NAME in their path may grow
// by FULL_DISK_BYTES in sum, then writing more of them fails with "no space left", as a real disk does it:
// what lies within a file already can still be rewritten, and the last write may be a short one.
#include <climits>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Pwrite = ssize_t (*)(int, const void*, std::size_t, off_t);
using Write = ssize_t (*)(int, const void*, std::size_t);

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool on_the_disk(int file) {
  static const char* const part = std::getenv("FULL_DISK_NAME");
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (part == nullptr || length < 0) return false;
  path[length] = '\0';
  return std::strstr(path, part) != nullptr;
}

/// How many of `size` bytes at `offset` there is room for.
std::size_t room(int file, std::size_t size, off_t offset) {
  static std::atomic<std::int64_t> left = [] {
    const char* bytes = std::getenv("FULL_DISK_BYTES");
    return bytes == nullptr ? std::int64_t{0} : std::atoll(bytes);
  }();
  struct stat info{};
  if (fstat(file, &info) != 0) return size;
  const std::int64_t end = offset + static_cast<std::int64_t>(size);
  const std::int64_t growth = std::max<std::int64_t>(0, end - info.st_size);
  const std::int64_t granted = std::min(growth, std::max<std::int64_t>(0, left.load()));
  left -= granted;
  return size - static_cast<std::size_t>(growth - granted);
}

ssize_t full() {
  errno = ENOSPC;
  return -1;
}

}  // namespace

extern "C" {

ssize_t pwrite(int file, const void* data, std::size_t size, off_t offset) {
  static const auto next = real<Pwrite>("pwrite");
  if (!on_the_disk(file)) return next(file, data, size, offset);
  const std::size_t granted = room(file, size, offset);
  return granted == 0 && size > 0 ? full() : next(file, data, granted, offset);
}

ssize_t pwrite64(int file, const void* data, std::size_t size, off_t offset) {
  return pwrite(file, data, size, offset);
}

ssize_t write(int file, const void* data, std::size_t size) {
  static const auto next = real<Write>("write");
  if (!on_the_disk(file)) return next(file, data, size);
  const std::size_t granted = room(file, size, lseek(file, 0, SEEK_CUR));
  return granted == 0 && size > 0 ? full() : next(file, data, granted);
}

}  // extern "C"
