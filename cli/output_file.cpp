#include "cli/output_file.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <stdio.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tferry::cli {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void refuse_existing(const std::filesystem::path& path) {
  throw Failure(fmt::format("{} exists already and is not overwritten", path.string()),
                "name another file, or add --force");
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path, bool force) : path_(std::move(path)), force_(force) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path_, ignored);
  if (std::filesystem::is_directory(path_, ignored)) {
    throw Failure(fmt::format("{} is a directory", path_.string()), "name a file in it");
  }
  if (std::filesystem::exists(status) && !force_) refuse_existing(path_);
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Failure(fmt::format("{} cannot be written: {}: {}", path_.string(), folder.string(), reason(errno)),
                  "create the folder, or name another place");
  }
}

void OutputFile::publish(std::string_view contents) const {
  std::string draft = path_.string() + ".XXXXXX";
  const int descriptor = ::mkostemp(draft.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw Failure(fmt::format("{} cannot be written: {}", path_.string(), reason(errno)),
                  "name another place");
  }
  int error = 0;
  while (!contents.empty() && error == 0) {
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written > 0) contents.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error = errno;
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (error == 0 && ::fchmod(descriptor, 0666 & ~mask) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0) {
    int result = ::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, path_.c_str(), force_ ? 0 : RENAME_NOREPLACE);
    if (result != 0 && errno == EINVAL && !force_) {
      // File systems without RENAME_NOREPLACE (NFS, some FUSE): a hard link refuses an existing name as well.
      result = ::link(draft.c_str(), path_.c_str());
      if (result == 0) ::unlink(draft.c_str());
    }
    if (result == 0) return;
    error = errno;
  }
  ::unlink(draft.c_str());
  if (error == EEXIST) refuse_existing(path_);
  throw Failure(fmt::format("{} cannot be written: {}", path_.string(), reason(error)), "name another place");
}

}  // namespace tferry::cli
