#pragma once

#include "analyzer/session/stored_plan.hpp"
#include "cli/status/status_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
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

  struct Gpu {
    std::int64_t pid = 0;
    std::int64_t ordinal = 0;  ///< in that process
  };
  struct Figures {
    std::int64_t process_id = 0;  ///< rows of the session
    std::int64_t device_id = 0;
    std::size_t plan = 0;      ///< that it followed
    std::int64_t from_ns = 0;  ///< what was recorded
    std::int64_t to_ns = 0;
    std::int64_t iterations = 0;                    ///< in which exactly the plan's operations were done
    std::optional<std::int64_t> iteration_ns = {};  ///< median
    std::optional<std::int64_t> wait_ns = {};       ///< for memory, per iteration
    std::optional<std::int64_t> in_memory_ns = {};  ///< its operations alone, and what the program lets idle
  };
  /// Finds the plan's iterations of each GPU, and stores them with operations, tensors, transfers and what
  /// these lost. `plans`: local rank r follows number r modulo their count. Of each GPU nothing where it
  /// recorded nothing.
  std::vector<std::optional<Figures>> analyze(std::span<const Gpu> gpus,
                                              std::span<const analyzer::StoredPlan* const> plans);

 private:
  std::filesystem::path path_;
};

}  // namespace tferry::cli
