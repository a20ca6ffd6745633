#include "cli/job/rank_coordination.hpp"

#include "cli/calibration/calibration_files.hpp"
#include "cli/failure.hpp"
#include "cli/job/environment.hpp"
#include "cli/job/link_groups.hpp"
#include "cli/job/shared_recording.hpp"
#include "cli/output_file.hpp"
#include "trace/job_environment.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tferry::cli {
namespace {

namespace fs = std::filesystem;
namespace names = trace::environment;

constexpr const char* kSegmentName = "slots";
constexpr const char* kSegmentEnd = ".slots";
constexpr const char* kLockEnd = ".lock";
constexpr int kTries = 200;

bool same_file(int file, const fs::path& path) {
  struct stat open{}, named{};
  return ::fstat(file, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev && open.st_uid == ::geteuid();
}

bool make_private_directory(const fs::path& path) {
  ::mkdir(path.c_str(), 0700);
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 0077) == 0;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

LinkGroups known_groups(const Environment& environment) {
  const std::vector<PcieLink> tree = read_pcie_tree();
  std::optional<trace::Calibration> calibration;
  for (const PcieLink& link : tree) {
    if (!calibration && link.gpu)
      calibration = find_calibration_at(calibration_folder(environment), host_name(), link.address);
  }
  return find_link_groups(tree, calibration);
}

const char* order_text(trace::SlotOrder order) {
  switch (order) {
    case trace::SlotOrder::kFixed:
      return "the lowest rank first";
    case trace::SlotOrder::kRotating:
      return "the first rank changing with every iteration";
    case trace::SlotOrder::kDeadline:
      return "the nearest need first";
    case trace::SlotOrder::kBehind:
      return "the rank with the earliest iteration first";
  }
  return "";
}

}  // namespace

RankCoordination::RankCoordination(const CoordinationSettings& settings, const fs::path& run_directory,
                                   const std::vector<fs::path>& meeting_places, Environment& environment)
    : settings_(settings) {
  using Mode = CoordinationSettings::Mode;
  if (settings.mode == Mode::kOff) return;
  if (settings.mode == Mode::kInterleave) {
    environment.set(names::kCoordinate, "interleave");
    description_ = "ranks of a host move different tensors";
    return;
  }
  const LinkGroups groups =
      settings.topology.empty() ? known_groups(environment) : read_link_groups(settings.topology);
  const std::string key = SharedRecording::job_key(environment);
  if (key.empty()) {
    segment_ = run_directory / kSegmentName;
    std::string error;
    if (trace::SlotSegment::create(segment_.string(), settings.order, settings.lease_ns, error) == nullptr)
      warning_ = error;
  } else {
    warning_ = "no directory where they can meet";
    for (const fs::path& place : meeting_places) {
      const fs::path directory = place / fmt::format("tferry-ranks-{}", ::geteuid());
      if (!make_private_directory(directory)) continue;
      remove_stale(directory);
      if (meet(directory, key)) break;
    }
  }
  if (!warning_.empty()) {
    warning_ = "the transfers of the ranks take no turns: " + warning_;
    return;
  }
  const fs::path links = run_directory / "links";
  OutputFile(links, false).publish(link_groups_text(groups));
  environment.set(names::kCoordinate, settings.chosen ? "auto" : "orchestrate");
  environment.set(names::kSlotSegment, segment_.string());
  environment.set(names::kLinks, links.string());
  if (settings.slot_bytes) environment.set(names::kSlotBytes, std::to_string(*settings.slot_bytes));
  description_ = fmt::format("transfers of ranks on one link take turns, {}{}", order_text(settings.order),
                             settings.chosen ? ", if that is faster" : "");
}

/// Under the lock of the directory's file for this job, alone while the segment is made, with others
/// afterwards.
bool RankCoordination::meet(const fs::path& directory, const std::string& key) {
  const std::string name = fmt::format("{:016x}", trace::slot_link_number(key));
  lock_path_ = directory / (name + kLockEnd);
  segment_ = directory / (name + kSegmentEnd);
  for (int tries = 0; tries < kTries; ++tries) {
    lock_ = ::open(lock_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_ < 0) {
      warning_ = fmt::format("{}: {}", lock_path_.string(), std::generic_category().message(errno));
      return false;
    }
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 && same_file(lock_, lock_path_)) {
      // Alone: whatever lies there is of a job that is over.
      std::error_code ignored;
      fs::remove(segment_, ignored);
      warning_.clear();
      if (trace::SlotSegment::create(segment_.string(), settings_.order, settings_.lease_ns, warning_) ==
          nullptr)
        return false;
    }
    // Changing the kind of lock may let others in between: then what is there now is theirs.
    struct stat status{};
    if (::flock(lock_, LOCK_SH | LOCK_NB) == 0 && same_file(lock_, lock_path_) &&
        ::lstat(segment_.c_str(), &status) == 0) {
      warning_.clear();
      return true;
    }
    ::close(std::exchange(lock_, -1));
    ::usleep(5000);
  }
  warning_ = "another launcher holds " + lock_path_.string();
  return false;
}

int RankCoordination::remove_stale(const fs::path& directory) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path lock_path = entry->path();
    if (lock_path.extension() != kLockEnd) continue;
    const int lock = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) continue;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0 && same_file(lock, lock_path)) {
      fs::path segment = lock_path;
      segment.replace_extension(kSegmentEnd);
      std::error_code ignored;
      fs::remove(segment, ignored);
      fs::remove(lock_path, ignored);
      ++removed;
    }
    ::close(lock);
  }
  return removed;
}

RankCoordination::~RankCoordination() {
  if (lock_ < 0) return;
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0 && same_file(lock_, lock_path_)) {
    std::error_code ignored;
    fs::remove(segment_, ignored);
    fs::remove(lock_path_, ignored);
  }
  ::close(lock_);
}

}  // namespace tferry::cli
