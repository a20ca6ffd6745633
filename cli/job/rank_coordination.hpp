#pragma once

#include "trace/slot_segment.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

class Environment;

/// How the ranks of a job are to share links, as the command line has it, checked.
struct CoordinationSettings {
  enum class Mode { kOff, kInterleave, kOrchestrate };
  Mode mode = Mode::kOff;
  bool chosen = false;  ///< by `auto`
  trace::SlotOrder order = trace::SlotOrder::kFixed;
  std::int64_t lease_ns = trace::SlotSegment::kDefaultLease;
  std::optional<std::int64_t> slot_bytes;
  std::string topology;  ///< the user's file; empty: what is known about the machine
};

/// What the ranks that this launcher starts need to take turns, for as long as this object lives.
///
/// A launcher outside of torchrun or mpirun makes the segment in its run directory, with which it goes, also
/// after a crash. One that is itself started by them for each rank meets the others in a directory of the
/// user's (mode 0700), under what they have in common (SharedRecording::job_key): whoever comes first makes
/// the segment, all hold a lock (flock) beside it, and the last that ends removes it; what crashed launchers
/// left, the next launcher removes.
class RankCoordination {
 public:
  /// Sets the variables of trace/job_environment.hpp. Throws Failure where a file of the run directory cannot
  /// be written or the topology is no such file; where ranks cannot meet, `warning` says why and they go on
  /// alone.
  RankCoordination(const CoordinationSettings& settings, const std::filesystem::path& run_directory,
                   const std::vector<std::filesystem::path>& meeting_places, Environment& environment);
  ~RankCoordination();
  RankCoordination(const RankCoordination&) = delete;
  RankCoordination& operator=(const RankCoordination&) = delete;

  const std::string& warning() const { return warning_; }
  /// "transfers of ranks on one link take turns, the lowest rank first".
  std::string describe() const { return description_; }

  /// Removes what launchers that died left in a directory of meetings; how many.
  static int remove_stale(const std::filesystem::path& directory);

 private:
  bool meet(const std::filesystem::path& directory, const std::string& key);

  CoordinationSettings settings_;
  std::filesystem::path segment_, lock_path_;
  int lock_ = -1;
  std::string warning_, description_;
};

}  // namespace tferry::cli
