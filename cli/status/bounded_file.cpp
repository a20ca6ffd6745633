#include "cli/status/bounded_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {

BoundedFile::BoundedFile(const std::filesystem::path& path, std::size_t limit, std::size_t offset) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) {
    defect_ = std::generic_category().message(errno);
    return;
  }
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    defect_ = "not a regular file";
  } else {
    file_size_ = static_cast<std::size_t>(status.st_size);
    bytes_.resize(file_size_ > offset ? std::min(limit, file_size_ - offset) : 0);
    std::size_t filled = 0;
    while (filled < bytes_.size()) {
      const ssize_t got = ::pread(descriptor, bytes_.data() + filled, bytes_.size() - filled,
                                  static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
    bytes_.resize(filled);
  }
  ::close(descriptor);
}

}  // namespace tferry::cli
