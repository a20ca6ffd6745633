#include "cli/job/run_directory.hpp"

#include "cli/failure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamePrefix = "tferry-run-";
constexpr const char* kLockName = "launcher.lock";
constexpr std::uint64_t kNeededBytes =
    256ULL << 20;  // operation rings of some processes: a full tmpfs would end them

int lock_launcher_file(const fs::path& directory, int flags) {
  const int descriptor =
      ::open((directory / kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (descriptor < 0) return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  errno = EWOULDBLOCK;
  return -1;
}

bool is_owned_directory(const fs::path& path, std::time_t oldest_change) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         status.st_mtime <= oldest_change;
}

bool has_running_process(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) continue;
    pid_t pid = 0;
    const char* const last = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + dot + 1, last, pid);
    if (parsed.ec != std::errc{} || parsed.ptr != last || pid <= 0) continue;
    if (::kill(pid, 0) == 0 || errno == EPERM) return true;
  }
  return false;
}

bool has_recording(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / RunDirectory::kPassing, error)) return false;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with("spool.")) return true;
  }
  return false;
}

void add_variable(const char* name, std::vector<fs::path>& places) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value == '/') places.emplace_back(value);
}

bool has_room(const fs::path& place) {
  struct statvfs status{};
  return ::statvfs(place.c_str(), &status) == 0 &&
         static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize >= kNeededBytes;
}

}  // namespace

std::vector<fs::path> RunDirectory::usual_places() {
  std::vector<fs::path> places;
  add_variable("XDG_RUNTIME_DIR", places);
  places.emplace_back("/dev/shm");
  add_variable("TMPDIR", places);
  places.emplace_back("/tmp");
  return places;
}

std::vector<fs::path> RunDirectory::places_on_disk() {
  std::vector<fs::path> places;
  add_variable("TMPDIR", places);
  places.emplace_back("/var/tmp");
  places.emplace_back("/tmp");
  return places;
}

RunDirectory::RunDirectory(const std::vector<fs::path>& places) {
  for (const fs::path& place : places) remove_stale(place);
  std::vector<std::string> tried;
  for (const fs::path& place : places) {
    if (!has_room(place)) {
      tried.push_back(place.string() + " (missing or full)");
      continue;
    }
    std::string pattern = (place / (std::string(kNamePrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      tried.push_back(fmt::format("{} ({})", place.string(), std::generic_category().message(errno)));
      continue;
    }
    path_ = pattern;
    lock_ = lock_launcher_file(path_, O_CREAT | O_EXCL);
    if (lock_ >= 0) return;
    tried.push_back(fmt::format("{} (no lock: {})", place.string(), std::generic_category().message(errno)));
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  throw Failure(fmt::format("no place for the run directory: {}", fmt::join(tried, ", ")),
                "set TMPDIR to a folder that you can write and that has 256 MiB free");
}

RunDirectory::~RunDirectory() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

int RunDirectory::remove_stale(const fs::path& place, int minimum_age_seconds) {
  const std::time_t oldest_change = std::time(nullptr) - minimum_age_seconds;
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& directory = entry->path();
    if (!directory.filename().string().starts_with(kNamePrefix)) continue;
    if (!is_owned_directory(directory, oldest_change)) continue;
    const int lock = lock_launcher_file(directory, 0);
    if (lock < 0 && errno != ENOENT) continue;
    if (!has_running_process(directory) && !has_recording(directory)) {
      std::error_code ignored;
      fs::remove_all(directory, ignored);
      ++removed;
    }
    if (lock >= 0) ::close(lock);
  }
  return removed;
}

}  // namespace tferry::cli
