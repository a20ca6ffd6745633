#pragma once

#include "cli/job/run_directory.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

class Environment;

/// The run directory of a recording that several launchers of one job on one host may share, as `srun tferry
/// profile
/// ...` starts one for each rank. The first becomes the owner: it samples the counters, waits for the others
/// at the end, and makes the one session. The others join it and leave their spools there. When the owner was
/// killed, the member that ends last makes the session.
///
/// How they find each other: a file in the temporary folder, named after the user and the job, which the
/// owner holds locked (flock) and which names its run directory; members hold a file of their own there.
/// Locks go with the processes that hold them, whatever ends those.
class SharedRecording {
 public:
  /// What the launchers of one job on this host have in common, by the variables of Slurm and of MPI's
  /// process managers; empty where this process is none of several ranks.
  static std::string job_key(const Environment& environment);

  /// Owns or joins; with an empty key always owns. Throws Failure as RunDirectory does.
  SharedRecording(const std::vector<std::filesystem::path>& places, const std::string& key,
                  const std::filesystem::path& meeting_folder = std::filesystem::temp_directory_path());
  ~SharedRecording();
  SharedRecording(const SharedRecording&) = delete;
  SharedRecording& operator=(const SharedRecording&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  bool owner() const noexcept { return owner_; }

  /// Once this launcher's job has ended. True if the session is to be made by this launcher: every other
  /// member has ended then, and no other joins. An owner waits for them.
  bool finish();
  /// Leaves the run directory and what is in it.
  void keep() noexcept;

 private:
  void own(const std::vector<std::filesystem::path>& places);
  bool try_join(const std::filesystem::path& directory);
  bool members_run() const;

  std::filesystem::path path_;
  std::filesystem::path meeting_;
  std::optional<RunDirectory> directory_;
  bool owner_ = false;
  bool remove_ = false;  ///< a member that took over removes the directory of the owner that died
  int meeting_file_ = -1;
  int member_file_ = -1;
};

}  // namespace tferry::cli
