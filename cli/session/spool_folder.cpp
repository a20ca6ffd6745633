#include "cli/session/spool_folder.hpp"

#include "cli/failure.hpp"
#include "cli/output_file.hpp"
#include "cli/session/file_size_signal.hpp"

#include <fmt/format.h>

#include <system_error>
#include <unistd.h>
#include <utility>

namespace tferry::cli {

namespace fs = std::filesystem;

SpoolFolder::SpoolFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error || ::access(path_.c_str(), W_OK | X_OK) != 0) {
    throw Failure(fmt::format("{} cannot be written", path_.string()),
                  "name another folder for --keep-spools");
  }
  if (!fs::is_empty(path_, error)) {
    throw Failure(fmt::format("{} is not empty, and nothing in it is overwritten", path_.string()),
                  "name another folder for --keep-spools");
  }
}

void SpoolFolder::take(const std::vector<std::string>& spools, const HostFacts& facts) const {
  const FileSizeSignalIgnored no_signal;
  OutputFile(path_ / HostFacts::kFile, true).publish(to_json(facts));
  for (const std::string& spool : spools) {
    std::error_code error;
    fs::copy_file(spool, path_ / fs::path(spool).filename(), error);
    if (error) {
      throw Failure(fmt::format("{} cannot be kept in {}: {}", spool, path_.string(), error.message()),
                    "make room there; the recording is still where it was made");
    }
  }
}

}  // namespace tferry::cli
