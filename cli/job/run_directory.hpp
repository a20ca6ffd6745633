#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tferry::cli {

/// The private directory (mode 0700) in which the processes of one job leave status.PID and operations.PID,
/// in memory-backed storage where there is some. A lock held by the launcher marks it as in use; directories
/// of launchers that died are removed by the next one, unless a process of their job still runs.
class RunDirectory {
 public:
  /// The places where it may be made, best first: $XDG_RUNTIME_DIR, /dev/shm, $TMPDIR, /tmp.
  static std::vector<std::filesystem::path> usual_places();

  /// The same for recordings, which are too large for memory: $TMPDIR, /var/tmp, /tmp.
  static std::vector<std::filesystem::path> places_on_disk();

  /// Makes one in the first of `places` that has room, and removes stale ones in all of them. Throws Failure
  /// if there is no such place.
  explicit RunDirectory(const std::vector<std::filesystem::path>& places);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  /// A file of this name says that recordings in the directory are for the moment only, and not to be kept.
  static constexpr const char* kPassing = "passing";

  /// Leaves it and what is in it when this object goes.
  void keep() noexcept { kept_ = true; }

  /// Removes what died launchers of this user left in `place`; returns how many directories.
  /// `minimum_age_seconds` protects one that is just being made. A directory that holds a recording is kept.
  static int remove_stale(const std::filesystem::path& place, int minimum_age_seconds = 60);

 private:
  std::filesystem::path path_;
  int lock_ = -1;
  bool kept_ = false;
};

}  // namespace tferry::cli
