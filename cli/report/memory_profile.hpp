#pragma once

#include "cli/report/scope.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tferry::cli {

struct LiveAllocation {
  std::int64_t id = 0;
  std::int64_t bytes = 0;  ///< as the budget counts them
  bool movable = false;
  std::int64_t asked = 0;    ///< bytes as the program asked for them
  std::int64_t address = 0;  ///< 0: unknown
};

/// The program's device memory of one process on one GPU.
struct MemoryProfile {
  std::int64_t process_id = 0, pid = 0, device_id = 0;
  std::int64_t allocations = 0;
  std::int64_t peak_bytes = 0;  ///< the footprint
  std::int64_t peak_ns = 0;     ///< when it was first reached
  std::int64_t movable_at_peak = 0;
  std::int64_t never_freed_bytes = 0;
  std::vector<LiveAllocation> alive;  ///< at the peak
  std::string moment = "the peak";    ///< in words
};

/// One for each process and GPU with allocations, by process, then GPU. What is alive in the scope's time
/// range counts. With `at_ns`, a time of the session's clock, that moment stands for the peak.
std::vector<MemoryProfile> memory_profiles(const Scope& scope, std::optional<std::int64_t> at_ns = {});

}  // namespace tferry::cli
