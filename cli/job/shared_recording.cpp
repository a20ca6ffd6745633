#include "cli/job/shared_recording.hpp"

#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "trace/rank.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMembersLock = "members.lock";
constexpr const char* kClosed = "closed";
constexpr const char* kMemberPrefix = "member.";
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int kTries = 500;  // an owner that just begins is waited for as long as this

/// An open file that is locked while this object lives.
class LockedFile {
 public:
  LockedFile(const fs::path& path, bool wait)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (file_ >= 0 && ::flock(file_, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0) return;
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  ~LockedFile() {
    if (file_ >= 0) ::close(file_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  bool locked() const { return file_ >= 0; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

/// True if the descriptor is ours and still has that name.
bool is_current(int file, const fs::path& path) {
  struct stat open{}, named{};
  return ::fstat(file, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && S_ISREG(named.st_mode) &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev && open.st_uid == ::geteuid();
}

std::string read_line(int file) {
  char buffer[4096];
  const ssize_t got = ::pread(file, buffer, sizeof buffer, 0);
  const std::string text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t end = text.find('\n');
  return end == std::string::npos ? "" : text.substr(0, end);
}

bool is_own_directory(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const unsigned char letter : text) hash = (hash ^ letter) * 1099511628211ULL;
  return hash;
}

}  // namespace

std::string SharedRecording::job_key(const Environment& environment) {
  const auto value = [&](const char* name) { return std::string(environment.get(name).value_or("")); };
  const trace::Rank rank = trace::Rank::from_environment();
  if (rank.rank < 0) return "";
  if (const std::string job = value("SLURM_JOB_ID"); !job.empty() && !value("SLURM_PROCID").empty()) {
    return "slurm " + job + "." + value("SLURM_STEP_ID");
  }
  for (const char* name :
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "HYDRA_JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    // torchrun names a job "none" unless told otherwise; its port tells jobs apart.
    if (const std::string job = value(name); !job.empty())
      return std::string(name) + " " + job + " " + value("MASTER_PORT");
  }
  return "";
}

SharedRecording::SharedRecording(const std::vector<fs::path>& places, const std::string& key,
                                 const fs::path& meeting_folder) {
  if (key.empty()) {
    own(places);
    return;
  }
  meeting_ = meeting_folder / fmt::format("tferry-job-{}-{:016x}", ::geteuid(), hash_of(key));
  for (int tries = 0; tries < kTries; ++tries) {
    meeting_file_ = ::open(meeting_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (meeting_file_ < 0) break;  // somebody else's, or no such folder
    const bool locked = ::flock(meeting_file_, LOCK_EX | LOCK_NB) == 0;
    if (is_current(meeting_file_, meeting_)) {
      if (locked) {
        own(places);
        return;
      }
      if (try_join(read_line(meeting_file_))) return;
    }
    ::close(meeting_file_);
    meeting_file_ = -1;
    std::this_thread::sleep_for(kPause);
  }
  own(places);
}

void SharedRecording::own(const std::vector<fs::path>& places) {
  directory_.emplace(places);
  path_ = directory_->path();
  owner_ = true;
  if (meeting_file_ < 0) return;
  const LockedFile members(path_ / kMembersLock, true);
  const std::string line = path_.string() + "\n";
  if (::ftruncate(meeting_file_, 0) != 0 ||
      ::pwrite(meeting_file_, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
    ::unlink(meeting_.c_str());  // nobody can join; each launcher then records for itself
  }
}

bool SharedRecording::try_join(const fs::path& directory) {
  if (directory.empty() || !is_own_directory(directory)) return false;
  const LockedFile members(directory / kMembersLock, true);
  std::error_code error;
  if (!members.locked() || fs::exists(directory / kClosed, error)) return false;
  LockedFile member(directory / (kMemberPrefix + std::to_string(::getpid())), false);
  if (!member.locked()) return false;
  member_file_ = member.release();
  path_ = directory;
  return true;
}

bool SharedRecording::members_run() const {
  std::error_code error;
  const std::string own_file = kMemberPrefix + std::to_string(::getpid());
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kMemberPrefix) || name == own_file) continue;
    if (!LockedFile(entry->path(), false).locked()) return true;
  }
  return false;
}

bool SharedRecording::finish() {
  if (!owner_) {
    // An owner that was killed has let go of its lock: the session is left to us.
    const bool orphaned = ::flock(meeting_file_, LOCK_EX | LOCK_NB) == 0;
    if (!orphaned) return false;
    remove_ = true;
  }
  if (meeting_file_ < 0) return true;
  for (;;) {
    {
      const LockedFile members(path_ / kMembersLock, true);
      if (!members_run()) {
        const LockedFile closed(path_ / kClosed, false);
        if (is_current(meeting_file_, meeting_)) ::unlink(meeting_.c_str());
        return true;
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

void SharedRecording::keep() noexcept {
  remove_ = false;
  if (directory_) directory_->keep();
}

SharedRecording::~SharedRecording() {
  std::error_code ignored;
  if (remove_) fs::remove_all(path_, ignored);
  if (owner_ && meeting_file_ >= 0 && is_current(meeting_file_, meeting_)) ::unlink(meeting_.c_str());
  if (member_file_ >= 0) ::close(member_file_);
  if (meeting_file_ >= 0) ::close(meeting_file_);
}

}  // namespace tferry::cli
