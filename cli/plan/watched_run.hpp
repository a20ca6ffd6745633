#pragma once

#include "analyzer/session/stored_plan.hpp"
#include "cli/status/status_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

/// What the runtime recorded of a run under a plan (TFERRY_WATCH): a few iterations with the times of
/// operations, movements and waits, as a session beside that of the run, which is removed with this object.
class WatchedRun {
 public:
  /// Builds it from the spools. Throws trace::SessionError and Failure.
  WatchedRun(const std::vector<std::string>& spools, const std::filesystem::path& session,
             const std::vector<ProcessSnapshot>& processes);
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Of a GPU of a process there.
  struct Figures {
    std::int64_t process_id = 0;  ///< rows of the session
    std::int64_t device_id = 0;
    std::int64_t from_ns = 0;  ///< what was recorded
    std::int64_t to_ns = 0;
    std::int64_t iterations = 0;                    ///< in which exactly the plan's operations were done
    std::optional<std::int64_t> iteration_ns = {};  ///< median
    std::optional<std::int64_t> wait_ns = {};       ///< for memory, per iteration
    std::optional<std::int64_t> in_memory_ns = {};  ///< its operations alone, and what the program lets idle
  };
  /// Finds the plan's iterations of process and GPU, and stores them with operations, tensors, transfers and
  /// what these lost. Nothing where that process recorded nothing.
  std::optional<Figures> analyze(std::int64_t pid, std::int64_t ordinal, const analyzer::StoredPlan& plan);

 private:
  std::filesystem::path path_;
};

}  // namespace tferry::cli
