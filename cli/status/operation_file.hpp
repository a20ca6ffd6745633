#pragma once

#include "trace/job_status.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tferry::cli {

/// The operations that one process left, oldest first.
struct OperationLog {
  std::vector<trace::OperationEntry> entries;
  std::uint64_t lost = 0;  ///< older ones that the ring, or our limit, no longer holds
  std::string defect;      ///< why there are none; empty otherwise
};

/// Reads `operations.PID`, the last `limit` entries at most. Sizes and counts in the file are checked against
/// its length; a missing file is a defect, too. Does not throw.
OperationLog read_operation_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 22);

}  // namespace tferry::cli
